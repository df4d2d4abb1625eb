"""Demonstrations: an episode that succeeded, as observations and the actions that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.errors import UsageError
from rbench.interfaces.world import World
from rbench.record import EpisodeRecord, Trajectory
from rbench.running.replay import Replayer
from rbench.world_state import WorldState

Images = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.float32]

#: The key of an agent's report under which it says what it would have done where it did something else.
LABELS = "labels"


@dataclass(frozen=True)
class Slot:
    """The place of a demonstration in a data set, known before anything is drawn.

    Attributes:
        index: its number, from 0. start: frames of all before it. length: its frames.
        episode: id in the run of the collection.
        instruction_index: number of its instruction in the order in which they first occur.
    """

    index: int
    start: int
    length: int
    episode: str
    instruction: str
    instruction_index: int


@dataclass(frozen=True, eq=False)
class Demonstration:
    """One demonstration of n control ticks: row t holds what was seen before tick t, and the action of that tick.

    Attributes:
        pictures: camera -> (n, height, width, 3), upright RGB.
        joint_positions: (n, 7) rad. joint_velocities: (n, 7) rad/s. gripper: (n,), 0 open .. 1 closed, measured.
        end_effector: (n, 7), position (m) and quaternion (w, x, y, z) of the fingertip point in the robot's base.
        actions: (n, 8), seven joint targets (rad) and the gripper (0 open .. 1 closed): what is to be learned.
        executed: (n, 8) float64, the commands that were sent; they differ from `actions` under execution noise.
        gl: which OpenGL drew the pictures.
    """

    slot: Slot
    record: EpisodeRecord
    rate: int
    pictures: Mapping[str, Images]
    joint_positions: Numbers
    joint_velocities: Numbers
    gripper: Numbers
    end_effector: Numbers
    actions: Numbers
    executed: npt.NDArray[np.float64]
    gl: Mapping[str, Any]


def demonstrate(
    replayer: Replayer, trajectory: Trajectory, slot: Slot, cameras: Sequence[str], height: int, width: int
) -> Demonstration:
    """Replay an episode of a run and draw what its cameras see.

    Raises:
        UsageError: the replay does not come out as it was recorded, or the agent's labels do not fit it.
    """
    record = replayer.record(slot.episode)
    ticks = len(trajectory.commands)
    pictures = {name: np.empty((ticks, height, width, 3), dtype=np.uint8) for name in cameras}
    taken = 0
    gl: Mapping[str, Any] = {}

    def watch(world: World, record: EpisodeRecord, state: WorldState) -> None:
        nonlocal taken, gl
        if taken == ticks:
            return  # the moment after the last action
        for name, images in pictures.items():
            images[taken] = world.render(name, height, width)
        taken += 1
        gl = world.provenance().get("gl") or {}

    result = replayer.replay(slot.episode, watch)
    if result.differences:
        changed = f" ({'; '.join(replayer.changes)})" if replayer.changes else ""
        raise UsageError(
            f"episode {slot.episode} does not happen again as it was recorded:"
            f" {', '.join(result.differences)}{changed}; collect anew, into another folder"
        )
    return Demonstration(
        slot=slot,
        record=record,
        rate=trajectory.control_rate,
        pictures=pictures,
        joint_positions=trajectory.joint_positions[:ticks],
        joint_velocities=trajectory.joint_velocities[:ticks],
        gripper=trajectory.gripper[:ticks],
        end_effector=trajectory.end_effector[:ticks],
        actions=actions_of(record, trajectory),
        executed=trajectory.commands,
        gl=gl,
    )


def actions_of(record: EpisodeRecord, trajectory: Trajectory) -> Numbers:
    """The actions to be learned (n, 8): what the agent reports as its labels, elsewhere the commands that were sent.

    An agent that executes noise reports one row for every tick in which it acted; the ticks in which the world
    settles after its last action have none.

    Raises:
        UsageError: what it reports is not that.
    """
    actions = trajectory.commands.astype(np.float32)
    report = record.agent.get("report") or {}
    if LABELS not in report:
        return actions
    try:
        labels = np.array(report[LABELS], dtype=np.float64)
    except (TypeError, ValueError):
        labels = np.empty(0)
    if labels.ndim != 2 or labels.shape[1] != actions.shape[1] or not np.isfinite(labels).all():
        raise UsageError(
            f"episode {record.episode}: the agent's report holds {LABELS!r} that are no rows of"
            f" {actions.shape[1]} numbers; correct the agent, or leave the key out"
        )
    rows = min(len(labels), len(actions))
    actions[:rows] = labels[:rows]
    return actions


def slots_of(records: Sequence[EpisodeRecord]) -> tuple[Slot, ...]:
    """The places of these episodes in a data set, in their order."""
    slots: list[Slot] = []
    instructions: dict[str, int] = {}
    start = 0
    for index, record in enumerate(records):
        number = instructions.setdefault(record.instruction, len(instructions))
        slots.append(Slot(index, start, record.steps, record.episode, record.instruction, number))
        start += record.steps
    return tuple(slots)
