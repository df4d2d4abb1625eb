"""Kinematics of the arm: the fingertip pose of joint angles, and joint angles for a fingertip pose.

Damped least squares (Nakamura and Hanafusa 1986; Wampler 1986) on a bare model of the arm; the seventh degree of
freedom is drawn towards a rest posture in the null space of the task.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from rbench.geometry import Array, Quaternion, Vec3
from rbench.simulation import panda

#: Keeps steps finite near singular postures.
DAMPING = 0.02
#: A radian of orientation error weighs as much as this many metres.
RADIAN = 0.25
#: Longest joint step (rad) of one iteration; far from the goal the linearisation holds no farther.
STEP = 0.2
#: Pull of the rest posture, in the first iteration only: pulled at in each, the answer would never settle.
POSTURE_GAIN = 0.1
#: Residual position (m) and orientation (rad) at which the iteration stops.
PRECISION = (1e-4, 1e-3)
ITERATIONS = 8
_WEIGHTS = np.array([1.0, 1.0, 1.0, RADIAN, RADIAN, RADIAN])
_DAMPING_SQUARED = DAMPING**2 * np.eye(6)
_NO_PULL = np.zeros(7)


@dataclass(frozen=True, slots=True)
class FingertipPose:
    """Position (3,) m and quaternion (4,) wxyz of the fingertip point in the robot base frame."""

    position: Array
    quaternion: Array


class ArmKinematics:
    """Forward and inverse kinematics of one arm; holds scratch memory, so it belongs to one thread."""

    def __init__(self) -> None:
        self._model = panda.kinematic_model()
        self._data = mujoco.MjData(self._model)
        self._site = int(self._model.site(panda.FINGERTIP_SITE).id)
        self._tip = self._data.site_xpos[self._site]
        self._quaternion = np.zeros(4)
        self._jacobian = np.zeros((6, 7))
        self._error, self._turn, self._solved = np.zeros(6), np.zeros(3), np.zeros(6)
        self._lower, self._upper = np.array(panda.LOWER), np.array(panda.UPPER)

    def fingertip(self, joints: Array) -> FingertipPose:
        """The fingertip pose at joint angles (7,) rad."""
        self._place(joints)
        return FingertipPose(self._tip.copy(), self._quaternion.copy())

    def solve(self, position: Vec3 | Array, quaternion: Quaternion | Array, start: Array, rest: Array) -> Array:
        """Joint angles (7,) rad within limits whose fingertip pose is as near as possible to a goal.

        Args:
            position, quaternion: the goal in the robot base frame.
            start: joint angles (7,) to start from; the answer is the solution next to them.
            rest: posture (7,) that the redundant degree of freedom is drawn to.
        """
        joints = np.minimum(np.maximum(start, self._lower), self._upper)
        goal_quaternion = np.asarray(quaternion, dtype=np.float64)
        error, move, turn = self._error, self._error[:3], self._error[3:]
        for iteration in range(ITERATIONS):
            self._place(joints)
            np.subtract(position, self._tip, out=move)
            # mju_subQuat gives the rotation in the current hand frame; the Jacobian speaks of the base frame.
            mujoco.mju_subQuat(self._turn, goal_quaternion, self._quaternion)
            mujoco.mju_rotVecQuat(turn, self._turn, self._quaternion)
            if move.dot(move) < PRECISION[0] ** 2 and turn.dot(turn) < PRECISION[1] ** 2:
                break
            mujoco.mj_comPos(self._model, self._data)
            mujoco.mj_jacSite(self._model, self._data, self._jacobian[:3], self._jacobian[3:], self._site)
            pull = POSTURE_GAIN * (rest - joints) if iteration == 0 else _NO_PULL
            joints = np.minimum(np.maximum(joints + self._step(error, pull), self._lower), self._upper)
        return np.asarray(joints)

    def _step(self, error: Array, pull: Array) -> Array:
        """J+ e + (1 - J+ J) r for the damped pseudo-inverse J+ and the pull r of the rest posture, in one solution."""
        jacobian = self._jacobian
        jacobian *= _WEIGHTS[:, None]
        square = jacobian.dot(jacobian.T) + _DAMPING_SQUARED
        mujoco.mju_cholFactor(square, 0.0)
        mujoco.mju_cholSolve(self._solved, square, _WEIGHTS * error - jacobian.dot(pull))
        step = self._solved.dot(jacobian) + pull
        length = float(step.dot(step)) ** 0.5
        return np.asarray(step * (STEP / max(length, STEP)))

    def _place(self, joints: Array) -> None:
        self._data.qpos[:] = joints
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mju_mat2Quat(self._quaternion, self._data.site_xmat[self._site])
