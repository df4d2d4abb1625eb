"""The agent `random`."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.action import JointVelocities
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.observation import CameraRequest, Observation

#: Seconds over which the random velocities lose their memory, and seconds in which the arm is drawn back to its start.
MEMORY, RETURN = 0.5, 1.5
#: Distance (rad) that is kept from the joint limits, and ticks a chunk.
MARGIN, CHUNK = 0.05, 10


class RandomMotionOptions(BaseModel):
    """Options of `random`.

    Attributes:
        scale: usual joint speed as a share of the speed limit.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scale: float = Field(default=0.3, gt=0.0, le=1.0)


class RandomMotion(Agent):
    """Joint velocities and a gripper that follow a seeded smooth random process, always within the robot's limits.

    It declares a camera like any policy that sees, and never reads it.
    """

    def __init__(self, options: RandomMotionOptions, context: AgentContext) -> None:
        self._scale = options.scale

    @property
    def manifest(self) -> AgentManifest:
        return AgentManifest(actions=("joint_velocities",), cameras={"front": CameraRequest(256, 256)}, primary="front")

    def reset(self, start: EpisodeStart) -> None:
        self._rng = start.rng
        self._rate = start.control_rate
        self._speed = np.array(start.robot.max_velocity)
        self._lower, self._upper = np.array(start.robot.lower) + MARGIN, np.array(start.robot.upper) - MARGIN
        self._home = np.clip(start.observation.joint_positions, self._lower, self._upper)
        self._joints = start.observation.joint_positions.copy()
        self._process = np.zeros(8)

    def act(self, observation: Observation) -> JointVelocities:
        return JointVelocities(np.array([self._row() for _ in range(CHUNK)]))

    def _row(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        # An Ornstein-Uhlenbeck process of unit variance.
        kept = np.exp(-1.0 / (MEMORY * self._rate))
        self._process = kept * self._process + np.sqrt(1.0 - kept * kept) * self._rng.standard_normal(8)
        wanted = self._scale * self._speed * self._process[:7] + (self._home - self._joints) / RETURN
        wanted = np.clip(wanted, -self._speed, self._speed)
        joints = np.clip(self._joints + wanted / self._rate, self._lower, self._upper)
        velocity = np.clip((joints - self._joints) * self._rate, -self._speed, self._speed)
        self._joints = self._joints + velocity / self._rate
        return np.append(velocity, np.clip(0.5 + 0.5 * self._process[7], 0.0, 1.0))
