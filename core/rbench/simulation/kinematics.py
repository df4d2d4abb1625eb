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
#: Largest joint step (rad) of one iteration; far from the goal the linearisation holds no farther.
STEP = 0.2
#: Pull of the rest posture per iteration.
POSTURE_GAIN = 0.05
#: Residual position (m) and orientation (rad) at which the iteration stops.
PRECISION = (1e-4, 1e-3)
ITERATIONS = 8


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
        self._jacobian = np.zeros((6, 7))
        self._quaternion = np.zeros(4)
        self._error = np.zeros(6)
        self._lower, self._upper = np.array(panda.LOWER), np.array(panda.UPPER)

    def fingertip(self, joints: Array) -> FingertipPose:
        """The fingertip pose at joint angles (7,) rad."""
        self._place(joints)
        return FingertipPose(self._data.site_xpos[self._site].copy(), self._quaternion.copy())

    def solve(self, position: Vec3 | Array, quaternion: Quaternion | Array, start: Array, rest: Array) -> Array:
        """Joint angles (7,) rad within limits whose fingertip pose is as near as possible to a goal.

        Args:
            position, quaternion: the goal in the robot base frame.
            start: joint angles (7,) to start from; the answer is the solution next to them.
            rest: posture (7,) that the redundant degree of freedom is drawn to.
        """
        joints = np.clip(start, self._lower, self._upper)
        goal_quaternion = np.asarray(quaternion, dtype=np.float64)
        weights = np.array([1.0, 1.0, 1.0, RADIAN, RADIAN, RADIAN])
        for _ in range(ITERATIONS):
            self._place(joints)
            error = self._error
            error[:3] = position - self._data.site_xpos[self._site]
            # mju_subQuat gives the rotation in the current hand frame; the Jacobian speaks of the base frame.
            mujoco.mju_subQuat(error[3:], goal_quaternion, self._quaternion)
            mujoco.mju_rotVecQuat(error[3:], error[3:].copy(), self._quaternion)
            if error[:3] @ error[:3] < PRECISION[0] ** 2 and error[3:] @ error[3:] < PRECISION[1] ** 2:
                break
            mujoco.mj_comPos(self._model, self._data)
            mujoco.mj_jacSite(self._model, self._data, self._jacobian[:3], self._jacobian[3:], self._site)
            joints = np.clip(joints + self._step(weights, error, rest - joints), self._lower, self._upper)
        return joints

    def _step(self, weights: Array, error: Array, to_rest: Array) -> Array:
        jacobian = self._jacobian * weights[:, None]
        square = jacobian @ jacobian.T
        square.flat[::7] += DAMPING * DAMPING
        right = np.column_stack([weights * error, jacobian @ to_rest])
        solved = jacobian.T @ np.linalg.solve(square, right)
        step = solved[:, 0] + POSTURE_GAIN * (to_rest - solved[:, 1])
        largest = np.abs(step).max()
        return np.asarray(step * (STEP / largest) if largest > STEP else step)

    def _place(self, joints: Array) -> None:
        self._data.qpos[:] = joints
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mju_mat2Quat(self._quaternion, self._data.site_xmat[self._site])
