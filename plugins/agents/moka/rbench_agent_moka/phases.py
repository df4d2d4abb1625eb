"""The phase policy: one subtask as waypoints of the fingertip point, in the published order.

Heights are those of a Panda whose fingertip point is what moves. The published program never gives its policy the
heights before and after contact and so fails at the first motion; here they are honoured. The angle at the target is
read and ignored, as published: the hand points straight down, turned as at home after the grasp.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rbench.action import Waypoint
from rbench.geometry import Array, Pose, Quaternion, vec3
from rbench_agent_moka.grasping import HOME_ANGLE, Grasp, pointing_down
from rbench_agent_moka.options import Options

Height = Literal["same", "above"]

#: The middle of the finger pads stays this far (m) above the table.
LOWEST = 0.012
#: Below the surface at which the gripper closes: so many metres, or this share of the object's height if that is less.
GRASP_DEPTH, GRASP_SHARE = 0.03, 0.6
#: Travel height (m) above the table, and above the rim of the receptacle with the object hanging below the hand.
TRAVEL, OVER_RIM = 0.20, 0.05
#: Air (m) between what hangs from the hand and the rim, when it lets go.
CLEARANCE = 0.02
#: The published program lifts every point by this (m), and rises by that while it lets go.
RAISED, RELEASE_RISE = 0.01, 0.03


@dataclass(frozen=True, eq=False)
class Motion:
    """One subtask in space, metres in the robot base frame; None: the motion does without.

    Attributes:
        table: height of the table. grasp, object_height: where the gripper closes, and how tall what it holds is.
        function: the part of the held object that makes contact. target: where it goes.
        rim: height of the receptacle at the target, when the subtask is to put something down there.
        pre, post: waypoints before and after contact, with their heights.
    """

    table: float
    grasp: Grasp | None
    object_height: float
    function: Array | None
    target: Array | None
    rim: float | None
    pre: Array | None
    pre_height: Height
    post: Array | None
    post_height: Height

    @property
    def pick_and_place(self) -> bool:
        """Something is held, no part of it is to make contact, and there is a place for it."""
        return self.grasp is not None and self.function is None and self.target is not None

    @property
    def grasp_height(self) -> float:
        """Of the fingertip point when the gripper closes; without a grasp that of an empty hand that pushes."""
        if self.grasp is None:
            return self.table + LOWEST
        depth = min(GRASP_DEPTH, GRASP_SHARE * self.object_height)
        return max(float(self.grasp.surface[2]) - depth, self.table + LOWEST)

    @property
    def safe_height(self) -> float:
        """At which nothing is in the way."""
        rim = self.table if self.rim is None else self.rim
        return max(self.table + TRAVEL, rim + self.object_height + OVER_RIM)


@dataclass(frozen=True)
class Phase:
    """A named part of the motion."""

    name: str
    goal: Waypoint


def phases(motion: Motion, here: Pose, first: bool, options: Options) -> list[Phase]:
    """The phases of one subtask.

    Args:
        here: where the fingertip point is. first: it is the first subtask of the episode.
    """
    fast, slow = options.high_speed, options.low_speed
    safe, home = motion.safe_height, pointing_down(HOME_ANGLE)
    x, y = here.position[:2]
    legs: list[_Leg] = []
    if not first or motion.grasp is None:
        legs.append(_Leg("lift_open", np.array([x, y, safe]), 0.0, fast, home))
    if motion.grasp is None:
        legs.append(_Leg("grip", legs[-1].position, 1.0, slow, home))
    else:
        (x, y), low = motion.grasp.surface[:2], motion.grasp_height
        turn = pointing_down(motion.grasp.angle)
        legs += [
            _Leg("reach_pre_grasp", np.array([x, y, safe]), 0.0, fast, turn),
            _Leg("reach_grasp", np.array([x, y, low]), 0.0, slow, turn),
            _Leg("grip", np.array([x, y, low]), 1.0, slow, turn),
            _Leg("lift", np.array([x, y, safe]), 1.0, slow, turn),
        ]
    legs += [_Leg(name, position, 1.0, speed, home) for name, position, speed in _manipulation(motion, fast, slow)]
    end, rise = legs[-1].position, np.array([0.0, 0.0, RELEASE_RISE])
    if options.mode == "fixed":
        # Opening while rising, as published, drags along what sticks to a finger.
        legs.append(_Leg("release", end, 0.0, slow, home))
        legs.append(_Leg("release_rise", end + rise, 0.0, slow, home))
    else:
        legs.append(_Leg("release", end + rise, 0.0, slow, home))
    return [leg.phase(motion.table + LOWEST) for leg in legs]


@dataclass(frozen=True, eq=False)
class _Leg:
    """A phase of one waypoint."""

    name: str
    position: Array
    gripper: float
    speed: float
    turn: Quaternion

    def phase(self, lowest: float) -> Phase:
        x, y, z = vec3(self.position)
        return Phase(self.name, Waypoint((x, y, max(z, lowest)), self.turn, self.gripper, self.speed))


def _manipulation(motion: Motion, fast: float, slow: float) -> Iterator[tuple[str, Array, float]]:
    """What happens between lifting and letting go: name, position, speed."""
    safe = motion.safe_height
    if motion.pick_and_place:
        x, y, z = _at_target(motion)
        yield "reach_pre_target", np.array([x, y, safe]), fast
        yield "reach_target", np.array([x, y, z]), slow
        return
    low = motion.grasp_height + RAISED
    if motion.pre is not None:
        x, y, z = motion.pre
        same = motion.pre_height == "same"
        yield "reach_pre_motion", np.array([x, y, safe]), fast
        yield "reach_pre_contact", np.array([x, y, max(z, low) if same else safe]), slow if same else fast
    if motion.target is not None:
        # As published: fast after a waypoint at the height of contact, slow from above.
        yield "reach_target", _at_target(motion), fast if motion.pre_height == "same" else slow
    if motion.post is not None:
        x, y, z = motion.post
        same = motion.post_height == "same"
        yield "reach_post_contact", np.array([x, y, max(z, low) if same else safe]), slow if same else fast


def _at_target(motion: Motion) -> Array:
    """Where the fingertip point is when the held object, or its function point, is at the target."""
    assert motion.target is not None
    x, y, z = (float(v) for v in motion.target)
    if motion.pick_and_place:
        hanging = motion.grasp_height - motion.table
        rim = z if motion.rim is None else motion.rim
        return np.array([x, y, min(rim + hanging + CLEARANCE, motion.safe_height)])
    z = max(z + RAISED, motion.grasp_height + RAISED)
    if motion.grasp is None or motion.function is None:
        return np.array([x, y, z])
    turn = HOME_ANGLE - motion.grasp.angle
    dx, dy = motion.function[:2] - motion.grasp.surface[:2]
    c, s = math.cos(turn), math.sin(turn)
    return np.array([x - (c * dx - s * dy), y - (s * dx + c * dy), z])
