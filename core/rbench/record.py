"""The record of one finished episode, and its trajectory."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rbench.geometry import Array
from rbench.scene import Jitter
from rbench.values import from_plain, to_plain

Outcome = Literal["success", "failure", "agent_error", "unstable", "infrastructure_error"]

#: The outcomes that form the denominator of every rate.
COUNTED: tuple[Outcome, ...] = ("success", "failure", "agent_error", "unstable")


@dataclass(frozen=True)
class Event:
    """Something that happened at a simulated time (s): `grasped`, `dropped`, `unreachable`, ..."""

    time: float
    name: str
    detail: str = ""


@dataclass(frozen=True)
class Hashes:
    """SHA-256 of the scene description, of the simulator's initial state and of each first frame.

    `first_frame` holds the cameras that the agent read at its first observation.
    """

    scene: str
    state: str
    first_frame: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EpisodeRecord:
    """One finished episode, as exported (one JSON object a line).

    Attributes:
        levels: level name of every factor, baselines included. values: the levels' values.
        jitter: displacement of each object, shared by all levels of a block.
        seed: the run seed.
        reason: why it ended: `goal`, `time_limit`, the reason of a Stop, or a kind of error.
        score: graded score 0..1, the mean over subtasks reached.
        steps: control ticks. sim_seconds: simulated time.
        agent: what the agent or its wrappers reported about the episode, and counters
            (`calls`, `clipped`).
        timing: wall seconds by phase; the only field in which two identical runs may differ.
    """

    episode: str
    instance: str
    repeat: int
    task: str
    dimension: str
    context: str
    levels: Mapping[str, str]
    values: Mapping[str, Any]
    jitter: Mapping[str, Jitter]
    seed: int
    outcome: Outcome
    reason: str
    success: bool
    score: float
    steps: int
    sim_seconds: float
    events: tuple[Event, ...]
    instruction: str
    hashes: Hashes
    error: str | None = None
    agent: Mapping[str, Any] = field(default_factory=dict)
    timing: Mapping[str, float] = field(default_factory=dict)

    @property
    def counted(self) -> bool:
        """Whether the episode belongs to the denominator."""
        return self.outcome in COUNTED

    def to_plain(self) -> dict[str, Any]:
        result: dict[str, Any] = to_plain(self)
        return result

    @staticmethod
    def from_plain(data: Mapping[str, Any]) -> EpisodeRecord:
        return from_plain(EpisodeRecord, data)

    @staticmethod
    def from_stored(data: Mapping[str, Any]) -> EpisodeRecord:
        """Rebuild what `to_plain` returned, from a place that nobody else writes to: unchecked, four times as fast."""
        fields: dict[str, Any] = dict(data)
        fields["jitter"] = {name: Jitter(**jitter) for name, jitter in data["jitter"].items()}
        fields["events"] = tuple(Event(**event) for event in data["events"])
        fields["hashes"] = Hashes(**data["hashes"])
        return EpisodeRecord(**fields)


def identical(a: EpisodeRecord, b: EpisodeRecord) -> bool:
    """Whether two records agree in everything but `timing`."""
    left, right = a.to_plain(), b.to_plain()
    left.pop("timing")
    right.pop("timing")
    return left == right


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Control-rate recording of one episode; row 0 is the state at reset.

    Attributes:
        control_rate: Hz.
        time: (n,) s. joint_positions, joint_velocities: (n, 7). gripper: (n,) 0 open .. 1 closed.
        end_effector: (n, 7) position and quaternion in the base frame.
        commands: (n - 1, 8) float64, the joint targets (rad) and gripper that led to rows 1..n-1;
            kept in full precision because a replay feeds them back.
        bodies: name -> (n, 7) position and quaternion.
        contact_pairs: names "a|b" of every pair that ever touched; contacts: (n, pairs) bool.
    """

    control_rate: int
    time: npt.NDArray[np.float64]
    joint_positions: npt.NDArray[np.float32]
    joint_velocities: npt.NDArray[np.float32]
    gripper: npt.NDArray[np.float32]
    end_effector: npt.NDArray[np.float32]
    commands: Array
    bodies: Mapping[str, npt.NDArray[np.float32]]
    contact_pairs: tuple[str, ...]
    contacts: npt.NDArray[np.bool_]

    def to_bytes(self) -> bytes:
        """The trajectory as compressed bytes: one line of JSON that lists the arrays, then their numbers.

        Not a numpy archive: a zip file of a dozen short arrays takes five times as long to write.
        """
        arrays = dict(self._arrays())
        header = {
            "control_rate": self.control_rate,
            "contact_pairs": self.contact_pairs,
            "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
        }
        parts = [json.dumps(header).encode(), b"\n", *(array.tobytes() for array in arrays.values())]
        return _MAGIC + zlib.compress(b"".join(parts), level=1)  # more effort gains one percent

    def _arrays(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        for name in _ARRAYS:
            yield name, getattr(self, name)
        for name, poses in self.bodies.items():
            yield f"body:{name}", poses

    @staticmethod
    def from_bytes(blob: bytes) -> Trajectory:
        """Read back what `to_bytes` wrote.

        Raises:
            ValueError: the blob is not a trajectory.
        """
        try:
            header, arrays = _unpacked(blob)
            return Trajectory(
                control_rate=int(header["control_rate"]),
                contact_pairs=tuple(str(pair) for pair in header["contact_pairs"]),
                bodies={n.removeprefix("body:"): arrays[n] for n in arrays if n.startswith("body:")},
                **{name: arrays[name] for name in _ARRAYS},
            )
        except (KeyError, TypeError, ValueError, RecursionError, zlib.error) as problem:
            raise ValueError(f"not a trajectory: {problem}") from problem


#: What a trajectory's bytes begin with; the number counts changes of the form.
_MAGIC = b"rbench trajectory 1\n"
#: Nothing longer was ever written: a damaged or hostile blob must not fill the memory.
_LONGEST = 1 << 30
_ARRAYS = (
    "time",
    "joint_positions",
    "joint_velocities",
    "gripper",
    "end_effector",
    "commands",
    "contacts",
)
_DTYPES = ("<f8", "<f4", "|b1")


def _unpacked(blob: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The header and the arrays of a trajectory's bytes."""
    if not blob.startswith(_MAGIC):
        raise ValueError("it does not begin like one")
    reader = zlib.decompressobj()
    content = reader.decompress(blob[len(_MAGIC) :], _LONGEST)
    if not reader.eof:
        raise ValueError("it is cut off or too long")
    line, _, numbers = content.partition(b"\n")
    header = json.loads(line)
    arrays, start = {}, 0
    for name, dtype, shape in header["arrays"]:
        if dtype not in _DTYPES:
            raise ValueError(f"array {name!r} holds {dtype!r}")
        kind = np.dtype(dtype)
        end = start + kind.itemsize * prod(shape)
        # A copy: an array of its own can be written to, as one that was recorded.
        arrays[name] = np.frombuffer(numbers[start:end], kind).reshape(shape).copy()
        start = end
    return header, arrays
