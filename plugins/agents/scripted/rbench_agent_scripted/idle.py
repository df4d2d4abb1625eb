"""The agent `idle`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rbench.action import JointPositions
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.observation import CameraRequest, Observation

#: It declares a camera like any policy that sees, and never reads it.
MANIFEST = AgentManifest(
    actions=("joint_positions",),
    cameras={"front": CameraRequest(256, 256)},
    primary="front",
)


class Idle(Agent):
    """Holds the joint positions it started with, a second at a time."""

    def __init__(self, options: Any, context: AgentContext) -> None:
        pass

    @property
    def manifest(self) -> AgentManifest:
        return MANIFEST

    def reset(self, start: EpisodeStart) -> None:
        seen = start.observation
        row = np.append(seen.joint_positions, min(max(seen.gripper, 0.0), 1.0))
        self._chunk = np.tile(
            np.clip(row, (*start.robot.lower, 0.0), (*start.robot.upper, 1.0)), (start.control_rate, 1)
        )

    def act(self, observation: Observation) -> JointPositions:
        return JointPositions(self._chunk)
