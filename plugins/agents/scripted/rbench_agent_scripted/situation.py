"""What a state asks for: from poses and contacts to the next goal of the fingertips, whatever came before."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rbench.geometry import Array, rotation_matrix
from rbench.interfaces.agent import RobotFacts
from rbench.scene import Receptacle, SceneObject
from rbench.world_state import LEFT_FINGER, RIGHT_FINGER, WorldState
from rbench_agent_scripted.grasps import Grasp, best_grasp

#: Air (m): between fingertips and object on the way in, between a carried object and the rim of the box, between object
#: and bottom of the box when it is let go; way up after that.
APPROACH, CARRY, DROP, RETREAT = 0.05, 0.03, 0.02, 0.12
#: How far (m) the fingers open beyond the object's width when they let go: their backs must not touch the walls.
RELEASE = 0.012
#: The fingers come down as far as the misalignment allows: all the way within ALIGNED (m), not at all beyond FUNNEL (m)
#: more. A radian counts as so many metres.
ALIGNED, FUNNEL, RADIAN = 0.005, 0.03, 0.05
#: The gripper closes within these (m) of the grasp, beside it and above it, and goes on closing within the second pair.
CLOSE, STILL_CLOSING = (0.004, 0.007), (0.015, 0.02)
#: Change of the gripper (0..1) in a tick below which it has stopped.
STOPPED = 0.02
#: Way (m) by which the fingers may be too low before they only go up.
TOO_LOW = 0.015


@dataclass(frozen=True)
class Goal:
    """Where the fingertips shall go: position (3,) m and finger angle (rad) in the base frame, gripper 0 .. 1.

    `careful`: near the object or the box; slowly, and with little noise.
    """

    position: Array
    angle: float
    gripper: float
    careful: bool


@dataclass(frozen=True)
class Situation:
    """The true state in the robot's base frame; metres and radians.

    Attributes:
        tip, angle: of the fingertips, and of the line between the fingers. gripper: 0 open .. 1 closed.
        place, yaw: of the object. grasp: how it is taken from above.
        box_place, box_yaw: of the receptacle.
        held: both fingers touch the object, and the gripper has stopped.
    """

    item: SceneObject
    box: Receptacle
    grasp: Grasp
    tip: Array
    angle: float
    gripper: float
    place: Array
    box_place: Array
    box_yaw: float
    held: bool
    max_opening: float

    @staticmethod
    def of(state: WorldState, item: SceneObject, box: Receptacle, robot: RobotFacts, last_gripper: float) -> Situation:
        """The situation of a world state; `last_gripper` is the gripper a tick ago."""
        to_base = rotation_matrix(robot.base.quaternion).T
        origin = np.asarray(robot.base.position)

        def in_base(name: str) -> tuple[Array, float]:
            body = state.bodies[name]
            turned = to_base @ rotation_matrix(body.quaternion)
            return to_base @ (body.position - origin), math.atan2(turned[1, 0], turned[0, 0])

        place, yaw = in_base(item.name)
        box_place, box_yaw = in_base(box.name)
        hand = rotation_matrix(state.robot.end_effector_quaternion)
        touched = state.touches(item.name, LEFT_FINGER) and state.touches(item.name, RIGHT_FINGER)
        return Situation(
            item=item,
            box=box,
            grasp=best_grasp(item, yaw),
            tip=np.asarray(state.robot.end_effector_position),
            angle=math.atan2(hand[1, 1], hand[0, 1]),
            gripper=state.robot.gripper,
            place=place,
            box_place=box_place,
            box_yaw=box_yaw,
            held=touched and abs(state.robot.gripper - last_gripper) < STOPPED,
            max_opening=robot.max_opening,
        )

    @property
    def bottom(self) -> float:
        """Height of the object's underside above the bottom of the box."""
        return float(self.place[2]) - self.item.size[2] / 2 - float(self.box_place[2]) - self.box.wall

    @property
    def in_box(self) -> bool:
        """Whether the object is between the walls of the box."""
        c, s = math.cos(self.box_yaw), math.sin(self.box_yaw)
        x, y = (self.place - self.box_place)[:2]
        inside = abs(c * x + s * y) < self.box.inner[0] / 2 and abs(c * y - s * x) < self.box.inner[1] / 2
        return inside and self.bottom < self.box.inner[2]

    @property
    def let_go(self) -> float:
        """The gripper that lets the object go without touching the walls."""
        return min(max(1.0 - (self.grasp.width + RELEASE) / self.max_opening, 0.0), 1.0)

    @property
    def square_with_box(self) -> float:
        """The finger angle next to the present one that is in line with a side of the box."""
        return _nearest(self.box_yaw, self.angle, math.pi / 2)


def goal_in(now: Situation) -> Goal:
    """What to do next."""
    if now.in_box:
        return _let_go(now)
    if now.held:
        return _carry(now)
    return _take(now)


def _let_go(now: Situation) -> Goal:
    angle = now.square_with_box
    if now.held and now.bottom > DROP + 0.004:
        return _carry(now)
    if now.gripper > now.let_go + 0.05:
        return Goal(now.tip, angle, now.let_go, True)
    return Goal(np.array([*now.tip[:2], now.box_place[2] + RETREAT + 0.05]), angle, now.let_go, True)


def _carry(now: Situation) -> Goal:
    """Over the box, high enough, and down into it."""
    hanging = now.tip - now.place
    over = (now.box_place + hanging)[:2]
    away = float(np.linalg.norm(over - now.tip[:2]))
    bottom = now.box_place[2] + now.box.wall + now.item.size[2] / 2 + float(hanging[2])
    low, high = bottom + DROP, bottom + now.box.inner[2] + CARRY
    height = low + _share(away, 0.01, FUNNEL) * (high - low)
    free = float(now.tip[2]) > height - TOO_LOW
    position = np.array([*(over if free else now.tip[:2]), height])
    return Goal(position, now.square_with_box if free else now.angle, 1.0, away < FUNNEL or not free)


def _take(now: Situation) -> Goal:
    """Above the object, down around it, and close."""
    angle = _nearest(now.grasp.angle, now.angle, math.pi)
    beside = float(np.linalg.norm(now.place[:2] - now.tip[:2]))
    low = float(now.place[2]) - now.item.size[2] / 2 + now.grasp.height
    above = abs(float(now.tip[2]) - low)
    grasp = np.array([*now.place[:2], low])
    turned = abs(angle - now.angle)
    missed = now.max_opening * (1.0 - now.gripper) < now.grasp.width - 0.01
    aligned = beside < CLOSE[0] and above < CLOSE[1] and turned < 0.1
    closing = now.gripper > 0.1 and beside < STILL_CLOSING[0] and above < STILL_CLOSING[1]
    if (aligned or closing) and not missed:
        return Goal(grasp, angle, 1.0, True)
    high = low - now.grasp.height + now.item.size[2] + APPROACH
    height = low + _share(beside + RADIAN * turned, ALIGNED, FUNNEL) * (high - low)
    if now.gripper > 0.15:  # the fingers have to open before they come down
        height = high
    free = float(now.tip[2]) > height - TOO_LOW
    position = np.array([*(now.place[:2] if free else now.tip[:2]), height])
    return Goal(position, angle if free else now.angle, 0.0, beside < 2 * FUNNEL)


def _share(error: float, least: float, width: float) -> float:
    return min(max((error - least) / width, 0.0), 1.0)


def _nearest(angle: float, to: float, period: float) -> float:
    """The angle nearest to another among those that are whole periods away from it."""
    return angle + period * round((to - angle) / period)
