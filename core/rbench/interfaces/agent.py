"""Agents: anything that decides actions from observations."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rbench.action import Action
from rbench.geometry import Pose
from rbench.interfaces.vision import VisionModel
from rbench.observation import CameraRequest, Observation

#: Names the folder in which this machine keeps model weights.
WEIGHTS_VARIABLE = "RBENCH_WEIGHTS"

TaskKind = Literal["manipulation", "question"]
ActionKind = Literal["joint_positions", "joint_velocities", "waypoints", "answer"]


@dataclass(frozen=True)
class AgentManifest:
    """What an agent takes and gives; constant over its life.

    Attributes:
        actions: the action kinds it may return (`Stop` is always allowed).
        cameras: what it wants of each camera; images are rendered only when read.
        primary: the camera it mainly acts on; one of the suite's viewpoint cameras, or None.
        kinds: the kinds of task it takes.
        control_rate: Hz; must divide 480.
        privileged: it reads ground truth; results carry that mark.
        weights: SHA-256 of every file of weights that decides what it does, by name. A run goes on with these only.
    """

    actions: tuple[ActionKind, ...]
    cameras: Mapping[str, CameraRequest] = field(default_factory=dict)
    primary: str | None = None
    kinds: tuple[TaskKind, ...] = ("manipulation",)
    control_rate: int = 20
    privileged: bool = False
    weights: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentContext:
    """What the host gives an agent when it is made.

    Attributes:
        vision: the vision model chosen for the run, or None when the run has none.
        device: "cpu" or a torch device name.
        weights: folder in which the user keeps model weights (RBENCH_WEIGHTS), or None.
        logger: for progress and oddities; goes to stderr.
    """

    vision: VisionModel | None = None
    device: str = "cpu"
    weights: Path | None = None
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("rbench.agent"))


@dataclass(frozen=True)
class RobotFacts:
    """What is known of the robot: joint limits (7,) rad, joint speed limits (7,) rad/s, gripper opening (m)."""

    model: str
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    max_velocity: tuple[float, ...]
    max_opening: float
    base: Pose


@dataclass(frozen=True)
class EpisodeStart:
    """The start of an episode. The instruction is here and nowhere else.

    Attributes:
        observation: the first observation, rendered only when read.
        rng: the agent's own seeded generator for this episode.
    """

    instruction: str
    observation: Observation
    robot: RobotFacts
    control_rate: int
    rng: np.random.Generator


class Agent(ABC):
    """Base class of agents. Called as `Agent(options, context)`; one instance lives in one process.

    The host calls `reset` once before every episode, then `act` until the episode ends, and `close`
    once at the end. Nothing may be carried from one episode to the next.
    """

    @property
    @abstractmethod
    def manifest(self) -> AgentManifest:
        """What the agent takes and gives."""

    @abstractmethod
    def reset(self, start: EpisodeStart) -> None:
        """Forget the last episode and prepare for the one that starts now."""

    @abstractmethod
    def act(self, observation: Observation) -> Action:
        """Decide a chunk of actions; the host executes all of it before it calls again."""

    def report(self) -> Mapping[str, Any]:
        """Plain data about the episode that just ended, for the record's `agent` field; no wall times."""
        return {}

    def timing(self) -> Mapping[str, float]:
        """Wall seconds by name that the episode spent on something worth telling, for the record's `timing`."""
        return {}

    def close(self) -> None:  # noqa: B027 - optional to override
        """Release what the agent holds; called once, also after an error."""
