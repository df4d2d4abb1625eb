"""What an agent answers: a chunk of joint targets, waypoints, an answer, or the wish to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rbench.errors import AgentError
from rbench.geometry import Array, Quaternion, Vec3

#: Columns of a joint row: seven arm joints and the gripper.
JOINTS = 7
ROW = JOINTS + 1

#: Longest reason of a Stop that is kept.
REASON_LIMIT = 200

#: Slowest speed of a waypoint, m/s: slower than that is no motion but a way to wait for ever.
SLOWEST = 1e-4


@dataclass(frozen=True, eq=False)
class JointPositions:
    """Joint targets, one row a control tick: (ticks, 8) = 7 joints (rad) + gripper (0 open .. 1 closed)."""

    rows: Array


@dataclass(frozen=True, eq=False)
class JointVelocities:
    """Joint velocities, one row a control tick: (ticks, 8) = 7 joints (rad/s) + gripper (0 open .. 1 closed)."""

    rows: Array


@dataclass(frozen=True)
class Waypoint:
    """A goal for the fingertip point in the robot base frame.

    Attributes:
        position: metres.
        quaternion: (w, x, y, z); the hand's z axis points out of the gripper.
        gripper: 0 open .. 1 closed.
        speed: m/s along the way, at least 1e-4.
    """

    position: Vec3
    quaternion: Quaternion
    gripper: float
    speed: float = 0.25


@dataclass(frozen=True)
class Waypoints:
    """Waypoints, each held until reached, or until 3 s beyond distance / speed have passed."""

    goals: tuple[Waypoint, ...]


@dataclass(frozen=True)
class Answer:
    """The answer to a question task; any JSON value."""

    value: Any


@dataclass(frozen=True)
class Stop:
    """The agent is done or gives up; `reason` is a short machine-readable word."""

    reason: str = "done"


Action = JointPositions | JointVelocities | Waypoints | Answer | Stop
ACTION_KINDS: dict[str, type] = {
    "joint_positions": JointPositions,
    "joint_velocities": JointVelocities,
    "waypoints": Waypoints,
    "answer": Answer,
    "stop": Stop,
}


def checked_action(action: Any, agent: str, kinds: tuple[str, ...]) -> Action:
    """The action with float64 rows, or an AgentError that names the agent and what is wrong.

    Args:
        action: what `act` returned.
        agent: its name, for the message.
        kinds: the action kinds of the agent's manifest; `stop` is always allowed.

    Raises:
        AgentError: not an action, a kind the manifest does not declare, wrong shape, NaN or
            infinite numbers, an empty chunk, a non-unit quaternion or a speed below 1e-4 m/s.
    """
    name = next((n for n, cls in ACTION_KINDS.items() if type(action) is cls), None)
    if name is None:
        raise AgentError(
            f"agent {agent!r}: act() returned {type(action).__name__}; return one of"
            " JointPositions, JointVelocities, Waypoints, Answer or Stop"
        )
    if name != "stop" and name not in kinds:
        raise AgentError(
            f"agent {agent!r}: act() returned {name}, but its manifest declares {', '.join(kinds)};"
            " add it to the manifest's actions"
        )
    if isinstance(action, (JointPositions, JointVelocities)):
        return type(action)(_checked_rows(action.rows, agent))
    if isinstance(action, Waypoints):
        return _checked_waypoints(action, agent)
    if isinstance(action, Stop):
        return Stop(" ".join(str(action.reason).split())[:REASON_LIMIT] or "done")
    assert isinstance(action, Answer)
    return action


def _checked_rows(rows: Any, agent: str) -> Array:
    try:
        array = np.asarray(rows)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fiu":  # neither text nor complex numbers are silently made to fit
        raise AgentError(f"agent {agent!r}: a joint chunk must be real numbers, shape (ticks, {ROW})")
    array = np.array(array, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != ROW:
        raise AgentError(
            f"agent {agent!r}: a joint chunk has shape (ticks, {ROW}), 7 joints and the gripper; got {array.shape}"
        )
    if len(array) == 0:
        raise AgentError(f"agent {agent!r}: the action chunk is empty; return at least one row, or Stop")
    if not np.isfinite(array).all():
        raise AgentError(f"agent {agent!r}: the action chunk holds NaN or infinite numbers")
    return array


def _checked_waypoints(action: Waypoints, agent: str) -> Waypoints:
    goals = []
    if not isinstance(action.goals, (tuple, list)):
        raise AgentError(f"agent {agent!r}: Waypoints takes a tuple of Waypoint, not {type(action.goals).__name__}")
    if not action.goals:
        raise AgentError(f"agent {agent!r}: Waypoints is empty; return at least one goal, or Stop")
    for index, goal in enumerate(action.goals):
        try:
            numbers = np.array([*goal.position, *goal.quaternion, goal.gripper, goal.speed], dtype=np.float64)
        except (AttributeError, TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (9,):
            raise AgentError(
                f"agent {agent!r}: waypoint {index} needs a position of 3, a quaternion of 4 numbers,"
                " a gripper and a speed"
            )
        if not np.isfinite(numbers).all():
            raise AgentError(f"agent {agent!r}: waypoint {index} holds NaN or infinite numbers")
        norm = float(np.linalg.norm(numbers[3:7]))
        if abs(norm - 1.0) > 1e-2:
            raise AgentError(
                f"agent {agent!r}: waypoint {index} has a quaternion of length {norm:.3f}; give (w, x, y, z)"
            )
        if numbers[8] < SLOWEST:
            raise AgentError(
                f"agent {agent!r}: waypoint {index} has speed {numbers[8]:g}; it must be at least {SLOWEST:g} m/s"
            )
        q = numbers[3:7] / norm
        goals.append(
            Waypoint(
                (float(numbers[0]), float(numbers[1]), float(numbers[2])),
                (float(q[0]), float(q[1]), float(q[2]), float(q[3])),
                float(numbers[7]),
                float(numbers[8]),
            )
        )
    return Waypoints(tuple(goals))
