"""A worker: builds agent and world from a job and runs episodes, in one process and thread."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from rbench.design import Episode
from rbench.errors import StartError, UsageError
from rbench.interfaces.agent import AgentManifest
from rbench.interfaces.world import World
from rbench.plugins.catalog import build_catalog
from rbench.running.agents import ResolvedAgent, build_agent, close_agent, effective_manifest, resolve_agent
from rbench.running.episode import EpisodeRunner, Finished
from rbench.running.job import Job
from rbench.running.phases import Phase, PhaseMarker
from rbench.running.process_facts import peak_memory
from rbench.running.surroundings import Surroundings
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.vision.metering import VisionMeter

#: World name -> the class that implements `rbench.interfaces.world.World`.
WORLDS = {"mujoco": "rbench.simulation.world:MujocoWorld"}

#: How often an episode is tried when something other than the agent fails.
ATTEMPTS = 3


def build_world(suite: Suite) -> World:
    """Make the world that the suite names; the GL backend is chosen before the simulator is imported.

    Raises:
        UsageError: no such world.
    """
    if suite.world not in WORLDS:
        raise UsageError(f"suite {suite.name!r}: world {suite.world!r} is not known; it can be {', '.join(WORLDS)}")
    module, _, attribute = WORLDS[suite.world].partition(":")
    settle_gl()
    profile = importlib.import_module("rbench.simulation.profiles").render_profile(suite.render)
    world: World = getattr(importlib.import_module(module), attribute)(profile, extrinsics=suite.extrinsics)
    return world


def settle_gl() -> None:
    """Choose the GL backend, which importing the simulator (also by an agent) fixes for the process."""
    gl = importlib.import_module("rbench.simulation.gl")
    gl.use_gl(gl.choose_gl())


def check_world(suite: Suite, manifest: AgentManifest, askers: Mapping[str, str] | None = None) -> None:
    """Refuse what the world cannot do for an agent: its control rate, the size of its images.

    Args:
        askers: `rbench.running.agents.camera_askers`, where it is known.

    Raises:
        UsageError: names the number and what is possible.
    """
    settle_gl()
    importlib.import_module("rbench.simulation.world").check_control_rate(manifest.control_rate)
    largest = importlib.import_module("rbench.simulation.profiles").render_profile(suite.render).max_size
    for camera, request in manifest.cameras.items():
        if max(request.height, request.width) > largest:
            raise UsageError(
                f"{(askers or {}).get(camera, 'the agent')} asks for camera {camera!r} with {request.height} x"
                f" {request.width} pixels, more than the {largest} that render profile {suite.render!r} allows; ask for"
                " less, by an option or in its manifest"
            )


class Worker:
    """Runs episodes of one run; owns its world and its agent."""

    def __init__(self, suite: Suite, parts: ResolvedAgent, seed: int, phase: PhaseMarker | None = None) -> None:
        self.phase = PhaseMarker() if phase is None else phase
        self.phase.enter(Phase.MAKING_AGENT)
        self.vision = VisionMeter(parts.limits, partial(self.phase.during, Phase.ASKING))
        self.agent = build_agent(parts, self.vision)
        self.phase.enter(Phase.STARTING)
        self.world = build_world(suite)
        self.runner = EpisodeRunner(
            suite,
            self.world,
            self.agent,
            parts.agent.part.name,
            effective_manifest(self.agent),
            seed,
            self.phase,
            parts.secrets,
            self.vision,
        )
        self._surroundings = Surroundings()
        self.phase.enter(Phase.IDLE)

    @classmethod
    def of_job(cls, job: Job, phase: PhaseMarker | None = None) -> Worker:
        """A worker made from plain data, wherever this is.

        Raises:
            StartError: versions, the suite or a plugin are not those that the run was planned with.
        """
        job.check_versions()
        settle_gl()
        catalog = build_catalog(only=job.distributions)
        suite = load_suite(catalog, job.description.suite)
        if suite.hash != job.suite_hash:
            raise StartError(
                f"suite {suite.name!r} changed since the run was planned (hash {suite.hash[:12]}, planned"
                f" {job.suite_hash[:12]}). Leave its file alone during a run; then `rbench resume`"
            )
        parts = resolve_agent(catalog, job.description)
        job.check_files(parts.files)
        worker = cls(suite, parts, job.description.seed, phase)
        try:
            job.check_weights(worker.runner.manifest.weights)
        except StartError:
            worker.close()
            raise
        return worker

    def run(self, episode: Episode, attempts: int = ATTEMPTS) -> Finished:
        """Run an episode; an infrastructure error is tried again, `attempts` times in all.

        The record says how much processor time the episode took (`timing.cpu`), its provenance how much memory this
        process has had at most (`peak_memory`, bytes).
        """
        for left in reversed(range(attempts)):
            self._surroundings.restore()
            self.phase.begin()
            before = time.process_time()
            finished = self.runner.run(episode)
            cpu = time.process_time() - before
            self._surroundings.restore()
            if finished.record.outcome != "infrastructure_error" or left == 0:
                break
        record = replace(finished.record, timing={**finished.record.timing, "cpu": cpu})
        return replace(finished, record=record, provenance={**finished.provenance, "peak_memory": peak_memory()})

    def close(self) -> None:
        """Close agent, vision models and world; an agent that fails to is only logged. The phase stays what it was."""
        close_agent(self.agent, self.runner.agent_name)
        self.vision.close()
        self.world.close()
