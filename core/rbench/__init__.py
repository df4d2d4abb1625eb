"""rbench: which visual factor breaks a manipulation agent, by how much, and how sure that is.

The one public door. Every name is imported when it is first used, so that `import rbench` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rbench.action import (
        Answer,
        JointPositions,
        JointVelocities,
        Stop,
        Waypoint,
        Waypoints,
    )
    from rbench.contributions import (
        AgentContribution,
        FactorContribution,
        MetricContribution,
        SuiteContribution,
        VisionModelContribution,
        WrapperContribution,
    )
    from rbench.design import Context, Design, Dimension, Episode, Instance, Level
    from rbench.errors import (
        AgentError,
        InfrastructureError,
        NoAnswer,
        PluginError,
        RbenchError,
        StaleObservation,
        StartError,
        StoppedEarly,
        SuiteError,
        UnstableSimulation,
        UsageError,
    )
    from rbench.geometry import Pose
    from rbench.hookspecs import hookimpl
    from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart, RobotFacts
    from rbench.interfaces.factor import Factor
    from rbench.interfaces.metric import Metric, MetricResult
    from rbench.interfaces.vision import Question, Reply, Usage, VisionModel
    from rbench.interfaces.world import Tick, World
    from rbench.interfaces.wrapper import Wrapper
    from rbench.observation import CameraRequest, CameraView, Intrinsics, Observation
    from rbench.plugins.options import LocalPath
    from rbench.record import EpisodeRecord, Event, Trajectory
    from rbench.results.run_directory import open_run
    from rbench.running.api import run
    from rbench.scene import SceneDescription, Setup
    from rbench.vision.asking import Interview
    from rbench.world_state import WorldState

_MODULES: dict[str, tuple[str, ...]] = {
    "action": ("Answer", "JointPositions", "JointVelocities", "Stop", "Waypoint", "Waypoints"),
    "contributions": (
        "AgentContribution",
        "FactorContribution",
        "MetricContribution",
        "SuiteContribution",
        "VisionModelContribution",
        "WrapperContribution",
    ),
    "design": ("Context", "Design", "Dimension", "Episode", "Instance", "Level"),
    "errors": (
        "AgentError",
        "InfrastructureError",
        "NoAnswer",
        "PluginError",
        "RbenchError",
        "StaleObservation",
        "StartError",
        "StoppedEarly",
        "SuiteError",
        "UnstableSimulation",
        "UsageError",
    ),
    "geometry": ("Pose",),
    "hookspecs": ("hookimpl",),
    "interfaces.agent": ("Agent", "AgentContext", "AgentManifest", "EpisodeStart", "RobotFacts"),
    "interfaces.factor": ("Factor",),
    "interfaces.metric": ("Metric", "MetricResult"),
    "interfaces.vision": ("Question", "Reply", "Usage", "VisionModel"),
    "interfaces.world": ("Tick", "World"),
    "interfaces.wrapper": ("Wrapper",),
    "observation": ("CameraRequest", "CameraView", "Intrinsics", "Observation"),
    "plugins.options": ("LocalPath",),
    "record": ("EpisodeRecord", "Event", "Trajectory"),
    "results.run_directory": ("open_run",),
    "running.api": ("run",),
    "scene": ("SceneDescription", "Setup"),
    "vision.asking": ("Interview",),
    "world_state": ("WorldState",),
}
_HOMES = {name: f"rbench.{module}" for module, names in _MODULES.items() for name in names}

__all__ = [
    "Agent",
    "AgentContext",
    "AgentContribution",
    "AgentError",
    "AgentManifest",
    "Answer",
    "CameraRequest",
    "CameraView",
    "Context",
    "Design",
    "Dimension",
    "Episode",
    "EpisodeRecord",
    "EpisodeStart",
    "Event",
    "Factor",
    "FactorContribution",
    "InfrastructureError",
    "Instance",
    "Interview",
    "Intrinsics",
    "JointPositions",
    "JointVelocities",
    "Level",
    "LocalPath",
    "Metric",
    "MetricContribution",
    "MetricResult",
    "NoAnswer",
    "Observation",
    "PluginError",
    "Pose",
    "Question",
    "RbenchError",
    "Reply",
    "RobotFacts",
    "SceneDescription",
    "Setup",
    "StaleObservation",
    "StartError",
    "Stop",
    "StoppedEarly",
    "SuiteContribution",
    "SuiteError",
    "Tick",
    "Trajectory",
    "UnstableSimulation",
    "Usage",
    "UsageError",
    "VisionModel",
    "VisionModelContribution",
    "Waypoint",
    "Waypoints",
    "World",
    "WorldState",
    "Wrapper",
    "WrapperContribution",
    "__version__",
    "hookimpl",
    "open_run",
    "run",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("rbench")
    if name not in _HOMES:
        raise AttributeError(f"module 'rbench' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
