"""Actions to actuator commands.

A command is a row of eight: seven joint targets (rad) and the gripper (0 open .. 1 closed). It holds for one control
tick. No command asks for more than Franka's joint speed limits allow, counted from the command before it: a target
that is far away is approached at that speed, for as long as the agent keeps asking for it.
"""

from __future__ import annotations

from math import ceil
from typing import Literal

import mujoco
import numpy as np

from rbench.action import JOINTS, Waypoint
from rbench.geometry import Array, quaternion_distance
from rbench.simulation import panda
from rbench.simulation.kinematics import ArmKinematics
from rbench.world_state import RobotState

#: A waypoint counts as reached within this position (m), orientation (rad) and gripper opening (0..1) ...
REACHED = (0.003, 0.03, 0.02)
#: ... where a gripper that has moved less than this (0..1) for so long (s) is as closed as it can be.
STALL = (0.01, 0.1)
#: Time (s) beyond distance / speed after which a waypoint is given up.
PATIENCE = 3.0
#: Turns along a waypoint motion are no faster than this (rad/s).
TURN_SPEED = 1.5
#: Waypoints farther from the base than this (m, each coordinate) are brought to it: the arm reaches 0.95 m.
REACH = 1.2


def finger_width(gripper: float) -> float:
    """Travel (m) of each finger from closed for a gripper command 0 open .. 1 closed."""
    return panda.FINGER_TRAVEL * (1.0 - gripper)


def gripper_of(left: float, right: float) -> float:
    """The gripper value, 0 open .. 1 closed, of two finger positions (m)."""
    return float(1.0 - (left + right) / (2.0 * panda.FINGER_TRAVEL))


class CommandLimits:
    """The commands that may follow a command at some control rate (Hz)."""

    def __init__(self, control_rate: int) -> None:
        self.control_rate = control_rate
        self.lower = np.array([*panda.LOWER, 0.0])
        self.upper = np.array([*panda.UPPER, 1.0])
        self.speed = np.array(panda.MAX_VELOCITY)
        # The gripper has no limit but its own strength: open and closed may follow each other.
        self.step = np.array([*(self.speed / control_rate), 1.0])

    def positions(self, row: Array, last: Array) -> tuple[Array, int]:
        """The command for a row of joint positions, and how many of its numbers were out of range.

        Out of range are joint angles and gripper beyond their limits, and joint angles that cannot be reached within
        the tick.
        """
        inside = _between(row, self.lower, self.upper)
        command = last + _between(inside - last, -self.step, self.step)
        # The tolerance forgives rounding in a row that was computed to move at exactly the speed limit.
        return command, int((np.abs(command - row) > 1e-9).sum())

    def velocities(self, row: Array, last: Array) -> tuple[Array, int]:
        """The command for a row of joint velocities, and how many of its numbers were out of range.

        Out of range are velocities beyond their limits, and those that would drive a joint beyond its limit.
        """
        velocity = _between(row[:JOINTS], -self.speed, self.speed)
        wanted = last[:JOINTS] + velocity / self.control_rate
        command, _ = self.positions(np.append(wanted, row[JOINTS]), last)
        changed = (velocity != row[:JOINTS]) | (np.abs(command[:JOINTS] - wanted) > 1e-9)
        return command, int(changed.sum()) + int(not 0.0 <= row[JOINTS] <= 1.0)

    def towards(self, joints: Array, gripper: float, last: Array) -> Array:
        """The command on the straight joint path towards a target, slowed down as a whole to the speed limits."""
        delta = joints - last[:JOINTS]
        ratio = float((np.abs(delta) / self.step[:JOINTS]).max())
        command = np.empty(JOINTS + 1)
        command[:JOINTS] = last[:JOINTS] + delta / max(ratio, 1.0)
        command[JOINTS] = gripper
        return _between(command, self.lower, self.upper)


class WaypointMotion:
    """The way of the fingertip point to one waypoint: a straight line at its speed, then holding until reached."""

    def __init__(self, goal: Waypoint, last: Array, rest: Array, arm: ArmKinematics, limits: CommandLimits) -> None:
        self._arm, self._limits, self._rest = arm, limits, rest
        position = np.array(goal.position)
        self._position = np.clip(position, -REACH, REACH)
        self._quaternion = np.array(goal.quaternion)
        self._gripper = min(max(goal.gripper, 0.0), 1.0)
        self.clipped = int((self._position != position).sum()) + int(self._gripper != goal.gripper)
        self._from = arm.fingertip(last[:JOINTS])
        distance = float(np.linalg.norm(self._position - self._from.position))
        turn = quaternion_distance(self._quaternion, self._from.quaternion)
        seconds = max(distance / goal.speed, turn / TURN_SPEED)
        self._ticks = max(1, ceil(seconds * limits.control_rate - 1e-9))
        self._patience = self._ticks + ceil(PATIENCE * limits.control_rate)
        self._stall_ticks = max(2, ceil(STALL[1] * limits.control_rate))
        self._commanded = 0
        self._openings: list[float] = []

    @property
    def left(self) -> int:
        """Ticks until the end of the line, 0 when it was reached."""
        return max(0, self._ticks - self._commanded)

    def commands(self, count: int, last: Array) -> list[Array]:
        """The next commands, (8,) each."""
        commands = []
        for _ in range(count):
            self._commanded += 1
            last = self._towards(min(1.0, self._commanded / self._ticks), last)
            commands.append(last)
        return commands

    def verdict(self, robot: RobotState) -> Literal["moving", "reached", "unreachable"]:
        """Where the motion stands after the next of its commands was executed."""
        self._openings.append(robot.gripper)
        done = len(self._openings)
        if done >= self._ticks and self._arrived(robot):
            return "reached"
        return "unreachable" if done >= self._patience else "moving"

    def _towards(self, part: float, last: Array) -> Array:
        """The command towards the point a share `part` along the line."""
        start = self._from
        position = start.position + part * (self._position - start.position)
        joints = self._arm.solve(position, _slerp(start.quaternion, self._quaternion, part), last[:JOINTS], self._rest)
        return self._limits.towards(joints, self._gripper, last)

    def _arrived(self, robot: RobotState) -> bool:
        offset = robot.end_effector_position - self._position
        if float(offset.dot(offset)) > REACHED[0] ** 2:
            return False
        if quaternion_distance(robot.end_effector_quaternion, self._quaternion) > REACHED[1]:
            return False
        if abs(robot.gripper - self._gripper) < REACHED[2]:
            return True
        recent = self._openings[-self._stall_ticks - 1 :]
        return len(recent) > self._stall_ticks and max(recent) - min(recent) < STALL[0]


def _between(values: Array, lower: Array, upper: Array) -> Array:
    """`np.clip`, which takes several times as long on a few numbers."""
    return np.minimum(np.maximum(values, lower), upper)


def _slerp(start: Array, end: Array, part: float) -> Array:
    """The rotation a share `part` of the way from `start` to `end`, on the shorter way round."""
    turn, result = np.empty(3), start.copy()
    mujoco.mju_subQuat(turn, end, start)
    mujoco.mju_quatIntegrate(result, turn, part)
    return result
