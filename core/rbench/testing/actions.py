"""What is wrong with an action, each flaw under the name of the check that it fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbench.action import (
    ACTION_KINDS,
    JOINTS,
    ROW,
    Action,
    Answer,
    JointPositions,
    JointVelocities,
    Stop,
    Waypoint,
    Waypoints,
)
from rbench.geometry import Array
from rbench.interfaces.agent import AgentManifest, RobotFacts
from rbench.testing.checks import Check, CheckFailed, CheckSkipped, check

#: Rounding that is forgiven: joints (rad, rad/s) and gripper (0..1); length of a quaternion; metres from the base.
JOINT_TOLERANCE, GRIPPER_TOLERANCE, UNIT_TOLERANCE, REACH = 1e-3, 1e-3, 1e-2, 1.2


@dataclass(frozen=True)
class Flaw:
    """Something wrong with an action: the check it fails, what was found, how to mend it, in which call of `act`."""

    check: str
    problem: str
    remedy: str
    call: int = 0


def flaws(action: Any, manifest: AgentManifest, robot: RobotFacts) -> Iterator[Flaw]:
    """Everything wrong with what `act` returned."""
    kind = next((name for name, cls in ACTION_KINDS.items() if type(action) is cls), None)
    if kind is None:
        yield Flaw(
            "actions-declared",
            f"act() returned {type(action).__name__}",
            "return JointPositions, JointVelocities, Waypoints, Answer or Stop",
        )
        return
    if kind != "stop" and kind not in manifest.actions:
        yield Flaw(
            "actions-declared",
            f"act() returned {kind}, but the manifest declares {', '.join(manifest.actions)}",
            f'add "{kind}" to the manifest\'s actions',
        )
    if isinstance(action, (JointPositions, JointVelocities)):
        yield from _row_flaws(action, robot)
    elif isinstance(action, Waypoints):
        if not action.goals:
            yield _empty("Waypoints", "goal")
        for number, goal in enumerate(action.goals):
            yield from _goal_flaws(goal, f"waypoint {number}")


def numbers(action: Any) -> Array | None:
    """A copy of an action's numbers, (n, 8) or (n, 9); None when it has none or they are no numbers."""
    try:
        if isinstance(action, (JointPositions, JointVelocities)):
            return np.array(action.rows, dtype=np.float64)
        if isinstance(action, Waypoints):
            return np.array([[*g.position, *g.quaternion, g.gripper, g.speed] for g in action.goals], dtype=np.float64)
    except (TypeError, ValueError, AttributeError):
        pass
    return None


def _row_flaws(action: JointPositions | JointVelocities, robot: RobotFacts) -> Iterator[Flaw]:
    rows = numbers(action)
    if rows is None or rows.ndim != 2 or rows.shape[1] != ROW:
        found = "no numbers" if rows is None else f"shape {rows.shape}"
        if rows is not None and rows.size == 0:
            yield _empty(type(action).__name__, "row")
            return
        yield Flaw(
            "chunk-shape",
            f"{type(action).__name__} has {found}",
            f"return an array (ticks, {ROW}): {JOINTS} joints and the gripper",
        )
        return
    if len(rows) == 0:
        yield _empty(type(action).__name__, "row")
        return
    if not np.isfinite(rows).all():
        tick, column = np.argwhere(~np.isfinite(rows))[0]
        yield _not_finite(f"row {tick}, column {column} of {type(action).__name__} is {rows[tick, column]}")
        return
    positions = isinstance(action, JointPositions)
    low = np.array(robot.lower) if positions else -np.array(robot.max_velocity)
    high = np.array(robot.upper) if positions else np.array(robot.max_velocity)
    outside = np.maximum(low - rows[:, :JOINTS], rows[:, :JOINTS] - high)
    if outside.max() > JOINT_TOLERANCE:
        tick, joint = np.unravel_index(outside.argmax(), outside.shape)
        unit, field = ("rad", "start.robot.lower and .upper") if positions else ("rad/s", "start.robot.max_velocity")
        hint = "; are these degrees?" if positions and np.abs(rows[:, :JOINTS]).max() > 7 else ""
        yield Flaw(
            "in-range",
            f"joint {joint + 1} of row {tick} is {rows[tick, joint]:.4g} {unit}, allowed is {low[joint]:.4g} to"
            f" {high[joint]:.4g}{hint}",
            f"clip the rows to {field} (numpy.clip)",
        )
    yield from _gripper_flaws(rows[:, JOINTS])


def _goal_flaws(goal: Any, where: str) -> Iterator[Flaw]:
    row = numbers(Waypoints((goal,))) if isinstance(goal, Waypoint) else None
    if row is None or row.shape != (1, 9):
        yield Flaw(
            "chunk-shape",
            f"{where} is not a Waypoint of 3 + 4 numbers, a gripper and a speed: {goal!r:.80}",
            "return Waypoints((Waypoint(position, quaternion, gripper, speed), ...))",
        )
        return
    if not np.isfinite(row).all():
        yield _not_finite(f"{where} is {row[0].tolist()}")
        return
    position, turn, speed = row[0, :3], row[0, 3:7], row[0, 8]
    length = float(np.linalg.norm(turn))
    if abs(length - 1.0) > UNIT_TOLERANCE:
        yield Flaw(
            "unit-quaternions",
            f"{where} has a quaternion of length {length:.4g}",
            "divide it by its length; rbench.geometry.quaternion() does",
        )
    if speed <= 0 or float(np.linalg.norm(position)) > REACH:
        what = f"speed {speed:.4g} m/s" if speed <= 0 else f"position {np.round(position, 3).tolist()} m"
        yield Flaw(
            "in-range",
            f"{where} has {what}; the arm reaches 0.95 m from its base, and a speed is above 0",
            "give metres in the robot base frame, and metres a second",
        )
    yield from _gripper_flaws(row[:, 7])


def _gripper_flaws(gripper: Array) -> Iterator[Flaw]:
    if gripper.min() < -GRIPPER_TOLERANCE or gripper.max() > 1 + GRIPPER_TOLERANCE:
        worst = gripper.max() if gripper.max() > 1 else gripper.min()
        yield Flaw(
            "in-range",
            f"the gripper is {worst:.4g}",
            "the gripper goes from 0 (open) to 1 (closed): rescale, then clip",
        )


def _empty(kind: str, item: str) -> Flaw:
    return Flaw("chunk-not-empty", f"{kind} without a {item}", f"return at least one {item}, or Stop(reason)")


def _not_finite(what: str) -> Flaw:
    return Flaw(
        "finite-numbers",
        what,
        "find where it comes from (0 / 0, the depth of a pixel that shows nothing, an empty mean); Stop when in doubt",
    )


def difference(action: Any, other: Any) -> str:
    """In what another action differs, for messages."""
    a, b = numbers(action), numbers(other)
    if type(action) is not type(other) or a is None or b is None:
        return f"{_short(other)} instead of {_short(action)}"
    if a.shape != b.shape:
        return f"{len(b)} rows instead of {len(a)}"
    row, column = np.argwhere((a != b) & ~(np.isnan(a) & np.isnan(b)))[0]
    return (
        f"{_column(action, int(column))} of row {row} is {float(b[row, column])!r} instead of {float(a[row, column])!r}"
    )


def _column(action: Any, column: int) -> str:
    if isinstance(action, Waypoints):
        return ("x", "y", "z", "w of the quaternion", "its x", "its y", "its z", "gripper", "speed")[column]
    return "gripper" if column == JOINTS else f"joint {column + 1}"


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 160 else text[:157] + "..."


def plain(action: Action | Any) -> Any:
    """The action as values that compare and hash byte for byte."""
    found = numbers(action)
    if found is not None:
        return (type(action).__name__, found.shape, found.tobytes())
    if isinstance(action, Stop):
        return ("Stop", action.reason)
    if isinstance(action, Answer):
        return ("Answer", repr(action.value))
    return (type(action).__name__,)


def _flaw_check(name: str, statement: str) -> Check:
    def run(subject: Any) -> str | None:
        plays = subject.all_played()
        for played in plays:
            for flaw in played.flaws:
                if flaw.check == name:
                    where = f"episode {played.scenario!r}, call {flaw.call} of act()"
                    raise CheckFailed(f"{flaw.problem} ({where})", flaw.remedy)
        if not any(played.returned for played in plays):
            raise CheckSkipped("it returned no action; see check 'no-exceptions'")
        return None

    run.__doc__ = statement
    return check(name)(run)


CHECKS = (
    _flaw_check("actions-declared", "Every action is of a kind that the manifest declares, or Stop."),
    _flaw_check("chunk-not-empty", "No chunk of actions is empty."),
    _flaw_check("chunk-shape", "Chunks have the documented shapes: (ticks, 8), or Waypoint records."),
    _flaw_check("finite-numbers", "No action holds NaN or an infinity."),
    _flaw_check("unit-quaternions", "Quaternions have length 1."),
    _flaw_check("in-range", "Joints, speeds, gripper and positions are within the robot's limits."),
)
