"""Folders of `rbench collect ... --format raw`: everything that training will touch is checked when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.collecting.formats.raw import SCHEMA
from rbench.errors import UsageError, one_line
from rbench.reading import read_json

#: Farthest that a joint may be, rad: two turns, and no robot's is.
FARTHEST = 4.0 * np.pi
#: How far beyond 0 open and 1 closed a measured gripper may be.
SLACK = 0.1


@dataclass(frozen=True)
class Demonstration:
    """A line of episodes.jsonl."""

    folder: str
    instruction: str


@dataclass(frozen=True)
class Arrays:
    """One demonstration of n moments.

    Attributes:
        pictures: of every camera (n, side, side, 3) uint8, mapped into memory.
        joints: (n, 7) rad. gripper: (n,), 0 open .. 1 closed. actions: (n, 8), joint targets and gripper.
    """

    pictures: dict[str, npt.NDArray[np.uint8]]
    joints: npt.NDArray[Any]
    gripper: npt.NDArray[Any]
    actions: npt.NDArray[Any]

    @property
    def side(self) -> int:
        """Of the pictures, pixels."""
        return int(next(iter(self.pictures.values())).shape[1])


@dataclass(frozen=True)
class Source:
    """A folder of demonstrations whose lists were read and whose arrays were not yet."""

    root: Path
    suite: str
    agent: str
    seed: int
    cameras: tuple[str, ...]
    demonstrations: tuple[Demonstration, ...]

    def arrays(self, demonstration: Demonstration, side: int | None) -> Arrays:
        """The arrays of a demonstration.

        Args:
            side: that pictures must have; None: any, and all the same.

        Raises:
            UsageError: one is missing, damaged, or not as it was collected; names its file.
        """
        joints = self._array(demonstration, "joint_positions", (7,), FARTHEST)
        length = len(joints)
        pictures = {}
        for camera in self.cameras:
            pictures[camera] = self._pictures(demonstration, camera, length, side)
            side = int(pictures[camera].shape[1])
        gripper = self._array(demonstration, "gripper", (), 1.0 + SLACK, -SLACK, length)
        actions = self._array(demonstration, "actions", (8,), FARTHEST, length=length)
        if not ((actions[:, 7] >= -SLACK) & (actions[:, 7] <= 1.0 + SLACK)).all():
            raise self._damaged(demonstration, "actions", "holds grippers outside 0 open .. 1 closed")
        return Arrays(pictures, joints, gripper, actions)

    def _array(
        self,
        demonstration: Demonstration,
        name: str,
        shape: tuple[int, ...],
        most: float,
        least: float | None = None,
        length: int | None = None,
    ) -> npt.NDArray[Any]:
        array = self._loaded(demonstration, name)
        if array.dtype.kind != "f" or array.shape[1:] != shape or array.ndim == 0 or not len(array):
            wanted = ", ".join(map(str, ("n", *shape)))
            raise self._damaged(
                demonstration, name, f"is {array.dtype} of shape {array.shape} and not floating point of ({wanted})"
            )
        if length is not None and len(array) != length:
            raise self._damaged(demonstration, name, f"has {len(array)} rows, and joint_positions has {length}")
        if not ((array >= (-most if least is None else least)) & (array <= most)).all():  # NaN is not
            raise self._damaged(demonstration, name, "holds numbers that no robot has (NaN, or far too large)")
        return array

    def _pictures(
        self, demonstration: Demonstration, camera: str, length: int, side: int | None
    ) -> npt.NDArray[np.uint8]:
        name = f"pictures.{camera}"
        found = self._loaded(demonstration, name)
        if found.dtype != np.uint8 or found.ndim != 4 or found.shape[3] != 3 or not found.size:
            raise self._damaged(
                demonstration, name, f"is {found.dtype} of shape {found.shape} and not uint8 of (n, side, side, 3)"
            )
        if len(found) != length:
            raise self._damaged(
                demonstration, name, f"has {len(found)} pictures, and joint_positions has {length} rows"
            )
        height, width = found.shape[1:3]
        if height != width or side not in (None, height):
            wanted = "square" if side is None else f"{side} x {side} as those before"
            raise UsageError(
                f"{self._file(demonstration, name)} has pictures of {height} x {width} pixels and not {wanted}; collect"
                " all with one --size"
            )
        return found

    def _loaded(self, demonstration: Demonstration, name: str) -> npt.NDArray[Any]:
        try:
            loaded: npt.NDArray[Any] = np.load(self._file(demonstration, name), mmap_mode="r", allow_pickle=False)
        except (OSError, EOFError, ValueError, OverflowError, SyntaxError, MemoryError) as problem:
            raise self._damaged(demonstration, name, f"cannot be read ({one_line(problem)})") from problem
        return loaded

    def _file(self, demonstration: Demonstration, name: str) -> Path:
        return self.root / demonstration.folder / f"{name}.npy"

    def _damaged(self, demonstration: Demonstration, name: str, what: str) -> UsageError:
        return UsageError(f"{self._file(demonstration, name)} {what}; collect the demonstrations again")


def read_source(root: Path, cameras: Sequence[str], rate: int, side: int) -> Source:
    """Read what a folder says of itself.

    Args:
        cameras: that are needed. rate: at which actions must follow each other, Hz.
        side: of pictures, for the advice on how to collect some.

    Raises:
        UsageError: it is no folder of raw demonstrations, or not one that can be used here.
    """
    try:
        head = read_json((root / "dataset.json").read_text(encoding="utf-8"))
        if not isinstance(head, dict):
            raise ValueError("dataset.json is no object")
    except (OSError, ValueError) as problem:
        raise UsageError(
            f"{root} holds no raw demonstrations ({problem}); collect some: rbench collect roboview-bias --agent servo"
            f" --option noise=1 --format raw --size {side} -o {root}"
        ) from problem
    if head.get("format") != "rbench-raw":
        raise UsageError(f"{root} has format {head.get('format')!r:.60}; collect with --format raw")
    if head.get("schema") != SCHEMA:
        raise UsageError(f"{root} is of schema {head.get('schema')!r:.60} and not {SCHEMA}; collect with this rbench")
    if head.get("rate") != rate:
        raise UsageError(
            f"{root} was collected at {head.get('rate')!r:.60} Hz, and the agent acts at {rate}; collect with --rate"
            f" {rate}"
        )
    there = head.get("cameras")
    for camera in cameras:
        if not isinstance(there, list) or camera not in there:
            raise UsageError(f"{root} has no pictures of camera {camera!r}; collect with --camera {camera}")
    said = {name: head.get(name) for name in ("suite", "agent", "seed")}
    if not (isinstance(said["suite"], str) and isinstance(said["agent"], str) and type(said["seed"]) is int):
        raise UsageError(f"{root / 'dataset.json'} lacks suite, agent or seed; collect the demonstrations again")
    return Source(root, said["suite"], said["agent"], said["seed"], tuple(cameras), _demonstrations(root))


def _demonstrations(root: Path) -> tuple[Demonstration, ...]:
    file = root / "episodes.jsonl"
    try:
        lines = [read_json(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as problem:
        raise UsageError(f"{file} is damaged ({one_line(problem)}); collect the demonstrations again") from problem
    found = []
    for number, line in enumerate(lines, start=1):
        folder, instruction = (line.get("folder"), line.get("instruction")) if isinstance(line, dict) else (None, None)
        if not isinstance(folder, str) or not _inside(root, folder) or not isinstance(instruction, str):
            raise UsageError(
                f"{file}, line {number}: no folder inside {root} with an instruction; collect the demonstrations again"
            )
        found.append(Demonstration(folder, instruction))
    return tuple(found)


def _inside(root: Path, folder: str) -> bool:
    try:
        return (root / folder).resolve().is_relative_to(root.resolve())
    except (OSError, ValueError):  # a loop of links, a name that is none
        return False
