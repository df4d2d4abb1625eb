"""A worker: builds agent and world from a run description and runs episodes, in one process and thread."""

from __future__ import annotations

import importlib
import logging

from rbench.design import Episode
from rbench.errors import UsageError
from rbench.interfaces.world import World
from rbench.running.agents import ResolvedAgent, build_agent, effective_manifest
from rbench.running.episode import EpisodeRunner, Finished
from rbench.suites.suite import Suite

#: World name -> the class that implements `rbench.interfaces.world.World`.
WORLDS = {"mujoco": "rbench.simulation.world:MujocoWorld"}


def build_world(suite: Suite) -> World:
    """Make the world that the suite names; the GL backend is chosen before the simulator is imported.

    Raises:
        UsageError: no such world.
    """
    if suite.world not in WORLDS:
        raise UsageError(f"suite {suite.name!r}: world {suite.world!r} is not known; it can be {', '.join(WORLDS)}")
    module, _, attribute = WORLDS[suite.world].partition(":")
    # Imported here, not above: importing the simulator fixes its GL backend for the process.
    gl = importlib.import_module("rbench.simulation.gl")
    gl.use_gl(gl.choose_gl())
    profile = importlib.import_module("rbench.simulation.profiles").render_profile(suite.render)
    world: World = getattr(importlib.import_module(module), attribute)(profile, extrinsics=suite.extrinsics)
    return world


class Worker:
    """Runs episodes of one run description; owns its world and its agent."""

    def __init__(self, suite: Suite, parts: ResolvedAgent, seed: int) -> None:
        self.agent = build_agent(parts)
        self.world = build_world(suite)
        self.runner = EpisodeRunner(
            suite, self.world, self.agent, parts.agent.part.name, effective_manifest(self.agent), seed
        )

    def run(self, episode: Episode, attempts: int = 3) -> Finished:
        """Run an episode; an infrastructure error is tried again, `attempts` times in all."""
        for _ in range(attempts - 1):
            finished = self.runner.run(episode)
            if finished.record.outcome != "infrastructure_error":
                return finished
        return self.runner.run(episode)

    def close(self) -> None:
        """Close agent and world; an agent that fails to close is only logged."""
        try:
            self.agent.close()
        except Exception as problem:
            logging.getLogger("rbench").warning("agent %s: close() raised %r", self.runner.agent_name, problem)
        self.world.close()
