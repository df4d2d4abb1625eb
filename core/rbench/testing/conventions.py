"""Checks of conventions: quaternions, gripper, the way up of pictures, the order of colours.

A convention that an agent has wrong shows in what it cannot do. Where it fails at the baseline, it is played again
with one convention turned round between it and the world; if it succeeds then, that one was wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from math import atan2, degrees

import numpy as np

from rbench.action import Action, JointPositions, JointVelocities, Waypoint, Waypoints
from rbench.geometry import Array, rotation_matrix
from rbench.testing.checks import Check, CheckFailed, CheckSkipped, check
from rbench.testing.playing import Change, Played, play
from rbench.testing.scenarios import baselines, scenario
from rbench.testing.subjects import AgentSubject
from rbench.testing.worlds import fake_world

#: How much the hand points down (cosine) where it surely does, and where it surely does not.
DOWN, NOT_DOWN = 0.9, 0.5
#: The object's yaw in two episodes that are compared, and how far (degrees) the hand may be off in following it.
YAW, YAW_TOLERANCE = 14.0, 9.0
#: Calls of `act` in which the hand is expected at the object.
LOOKED_AT = 20


@check("competent")
def competent(subject: AgentSubject) -> str:
    """It solves the task at the baseline, at least once in three starts (only where that is claimed)."""
    solved = subject.successes()
    ground = "the real world" if subject.real_world_problem is None else "the fake world"
    note = f"{solved} of {len(baselines())} starts in {ground}"
    if solved == 0 and subject.expect.competent:
        reasons = ", ".join(sorted({played.reason for played in subject.attempts()}))
        raise CheckFailed(
            f"it solves {note} ({reasons})",
            "see the checks on conventions below; `rbench run ... --limit 4` and its records show more",
        )
    if solved == 0 and not subject.expect.competent:
        raise CheckSkipped(f"{note}; not claimed (competent=True, --competent)")
    return note


@check("hand-direction")
def hand_direction(subject: AgentSubject) -> None:
    """Where the gripper closes, the hand points at the table: quaternions are (w, x, y, z) in the base frame."""
    goals = [goal for played in subject.all_played() for goal in _closing(played)]
    if not goals:
        raise CheckSkipped("it closes the gripper at no waypoint in these episodes")
    turns = np.array([goal.quaternion for goal in goals])
    now = _down(turns)
    if now > NOT_DOWN:
        return
    for name, reading in _readings():
        if _down(turns[:, reading[0]] * reading[1]) > DOWN:
            raise CheckFailed(
                f"the hand does not point at the table where the gripper closes, but would if its quaternion"
                f" {_rounded(turns[0])} were {name}",
                "give quaternions as (w, x, y, z); scipy's Rotation.as_quat() and ROS have (x, y, z, w)",
            )
    if now < -NOT_DOWN:
        raise CheckFailed(
            f"the hand points up where the gripper closes (quaternion {_rounded(turns[0])})",
            "the hand's z axis points out of the gripper: straight down is (0, 1, 0, 0)",
        )


@check("hand-turns-with-object")
def hand_turns_with_object(subject: AgentSubject) -> str:
    """Where the object is turned, the hand turns the same way, or not at all."""
    subject.require_playable()
    angles = []
    with subject.fresh() as agent:
        plays = [
            play(agent, fake_world(), scenario(name, 0.52, 0.02, yaw), calls=LOOKED_AT)
            for name, yaw in (("turned-right", -YAW), ("turned-left", YAW))
        ]
    for goals in map(_closing, plays):
        if not goals:
            raise CheckSkipped("it closes the gripper at no waypoint in these episodes")
        fingers = rotation_matrix(goals[0].quaternion)[:, 1]
        angles.append(degrees(atan2(fingers[1], fingers[0])))
    # The object has four faces alike: a quarter of a turn makes no difference.
    turned = (angles[1] - angles[0] + 45.0) % 90.0 - 45.0
    if abs(turned + 2 * YAW) < YAW_TOLERANCE:
        raise CheckFailed(
            f"the object was turned by {2 * YAW:.0f} degrees, and the hand by {turned:.0f}",
            "mind signs: the hand looks down, so that its own z axis turns against the base frame's; build the rotation"
            " matrix in the base frame and use rbench.geometry.matrix_quaternion",
        )
    return f"object {2 * YAW:.0f} degrees, hand {turned:.0f}"


def _told_otherwise(name: str, statement: str, remedy: str, *changes: Change) -> Check:
    def run(subject: AgentSubject) -> str:
        played = subject.attempts()
        total = len(played)
        solved = subject.successes()
        if solved > total / 2:
            return f"{solved} of {total} starts solved as it is"
        if any(change.see for change in changes) and not any(one.read for one in played):
            raise CheckSkipped("it reads no picture")
        for change in changes:
            otherwise = subject.successes(change)
            if otherwise > solved + total / 2:
                raise CheckFailed(
                    f"it solves {solved} of {total} starts as it is, and {otherwise} when {change.name}", remedy
                )
        raise CheckSkipped(f"it solves {solved} of {total} starts either way, which tells nothing")

    run.__doc__ = statement
    return check(name)(run)


def _flipped_gripper(action: Action) -> Action:
    if isinstance(action, Waypoints):
        return Waypoints(tuple(replace(goal, gripper=1.0 - goal.gripper) for goal in action.goals))
    if isinstance(action, (JointPositions, JointVelocities)):
        rows = action.rows.copy()
        rows[:, -1] = 1.0 - rows[:, -1]
        return type(action)(rows)
    return action


gripper_direction = _told_otherwise(
    "gripper-direction",
    "The gripper is 0 for open and 1 for closed.",
    "send 0 to open and 1 to close; a policy trained the other way round needs 1 - gripper",
    Change("the gripper is read the other way round", do=_flipped_gripper),
)
image_upright = _told_otherwise(
    "image-upright",
    "Pictures are taken as they are: upright, row 0 on top, column 0 on the left.",
    "do not flip what rbench gives you; OpenGL's lower left origin is not used here",
    Change("pictures are turned upside down first", see=lambda channel, image: image[::-1]),
    Change("colours, not depth, are turned upside down first", see=lambda c, i: i[::-1] if c == "rgb" else i),
    Change("pictures are mirrored first", see=lambda channel, image: image[:, ::-1]),
    Change("colours, not depth, are mirrored first", see=lambda c, i: i[:, ::-1] if c == "rgb" else i),
    Change("pictures are turned by half a turn first", see=lambda channel, image: image[::-1, ::-1]),
)
channel_order = _told_otherwise(
    "channel-order",
    "Colours are taken in the order red, green, blue.",
    "rbench gives RGB; convert with image[:, :, ::-1] before you hand it to something that expects BGR (OpenCV)",
    Change("red and blue are exchanged first", see=lambda c, image: image[:, :, ::-1] if c == "rgb" else image),
)
depth_unit = _told_otherwise(
    "depth-unit",
    "Depth is taken in metres along the optical axis.",
    "depth is float32 metres: do not divide by 1000, and do not treat it as the length of the ray",
    Change("depth is multiplied by 1000 first", see=lambda c, image: image * 1000 if c == "depth" else image),
    Change("depth is divided by 1000 first", see=lambda c, image: image / 1000 if c == "depth" else image),
)

CHECKS = (
    competent,
    hand_direction,
    hand_turns_with_object,
    gripper_direction,
    image_upright,
    channel_order,
    depth_unit,
)


def _closing(played: Played) -> list[Waypoint]:
    """The waypoints at which the gripper closes."""
    found = []
    last: float | None = None
    for action in played.returned:
        for goal in action.goals if isinstance(action, Waypoints) else ():
            if last is not None and goal.gripper > last + 0.3:
                found.append(goal)
            last = goal.gripper
    return found


def _down(turns: Array) -> float:
    """The least share of the hand's z axis that points down, over quaternions (n, 4)."""
    return float(min(-rotation_matrix(turn)[2, 2] for turn in turns))


@cache
def _readings() -> tuple[tuple[str, tuple[list[int], Array]], ...]:
    """Other ways to read four numbers as a quaternion: a name, the order of numbers and their signs."""
    straight, last = [0, 1, 2, 3], [3, 0, 1, 2]
    found = [("read as (x, y, z, w)", (last, np.ones(4)))]
    for signs in _signs():
        found.append((f"given with the signs {signs}", (straight, np.array([1.0, *signs]))))
    return tuple(found)


def _signs() -> Iterator[tuple[float, float, float]]:
    for x, y, z in product((1.0, -1.0), repeat=3):
        if (x, y, z) != (1.0, 1.0, 1.0):
            yield (x, y, z)


def _rounded(turn: Array) -> str:
    return "(" + ", ".join(f"{value:.2f}" for value in turn) + ")"
