"""One episode: joins a world and an agent, and ends in a record.

Outcomes (design section 8): an agent that raises or breaks its contract costs this episode and
counts as `agent_error`; a diverged simulation is `unstable`; an `InfrastructureError` from
anywhere is not the agent's fault. Errors that make the whole run pointless (`StartError`, `StoppedEarly`)
pass through.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.action import Action, Answer, Stop, checked_action
from rbench.design import Episode
from rbench.errors import (
    AgentError,
    InfrastructureError,
    StartError,
    StoppedEarly,
    SuiteError,
    UnstableSimulation,
)
from rbench.interfaces.agent import Agent, AgentManifest, EpisodeStart
from rbench.interfaces.world import Tick, World
from rbench.observation import Observation
from rbench.record import EpisodeRecord, Event, Hashes, Outcome
from rbench.running.jitter import block_jitter
from rbench.running.recorder import TrajectoryRecorder
from rbench.scene import jittered
from rbench.seeding import block_seed, generator
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.tasks.monitor import TaskMonitor
from rbench.values import to_plain

#: Simulated seconds that the world settles after `Stop` before it is scored as it stands.
SETTLE_AFTER_STOP = 1.0

#: Longest error text kept in a record.
ERROR_LIMIT = 2000


@dataclass(frozen=True)
class Finished:
    """A record with its compressed trajectory (empty when the world was never reset).

    `provenance` says which simulator and renderer made it (`World.provenance`).
    """

    record: EpisodeRecord
    trajectory: bytes
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class _Progress:
    """What is known of the episode so far, so that an error at any point still makes a whole record."""

    events: list[Event] = field(default_factory=list)
    calls: int = 0
    clipped: int = 0
    report: Mapping[str, Any] = field(default_factory=dict)
    first: Observation | None = None
    state_hash: str = ""
    reset_seconds: float = 0.0
    agent_seconds: float = 0.0
    world_seconds: float = 0.0
    recorder: TrajectoryRecorder | None = None
    monitor: TaskMonitor | None = None
    end: float = 0.0


class EpisodeRunner:
    """Runs episodes of one suite with one agent in one world, one after the other."""

    def __init__(
        self, suite: Suite, world: World, agent: Agent, agent_name: str, manifest: AgentManifest, seed: int
    ) -> None:
        self.suite = suite
        self.manager = RecursiveVariantTaskManager(suite)
        self.world = world
        self.agent = agent
        self.agent_name = agent_name
        self.manifest = manifest
        self.seed = seed
        self._tasks = {task.name: task for task in suite.tasks}

    def run(self, episode: Episode) -> Finished:
        """Run one episode to its record.

        Raises:
            StartError, StoppedEarly, UsageError: the run as a whole cannot go on.
        """
        started = time.perf_counter()
        progress = _Progress()
        error: str | None = None
        try:
            outcome, reason = self._play(episode, progress)
        except (StartError, StoppedEarly, SuiteError):
            raise
        except AgentError as problem:
            outcome, reason, error = "agent_error", "agent_error", _text(problem)
        except UnstableSimulation as problem:
            outcome, reason, error = "unstable", "unstable", _text(problem)
        except InfrastructureError as problem:
            outcome, reason, error = "infrastructure_error", "infrastructure_error", _text(problem)
        return self._finish(episode, progress, outcome, reason, error, started)

    def _play(self, episode: Episode, progress: _Progress) -> tuple[Outcome, str]:
        task = self._tasks[episode.instance.task]
        setup = self.manager.setup(episode.instance)
        setup = jittered(setup, block_jitter(self.suite, episode.instance, episode.repeat, self.seed))
        begin = time.perf_counter()
        self.world.reset(setup, control_rate=self.manifest.control_rate, cameras=self.manifest.cameras)
        progress.reset_seconds = time.perf_counter() - begin
        progress.state_hash = self.world.fingerprint()
        state = self.world.state()
        progress.recorder = TrajectoryRecorder(self.manifest.control_rate, state)
        progress.monitor = monitor = TaskMonitor(task)
        monitor.update(state)
        if monitor.goal_holds:
            raise SuiteError(
                f"suite {self.suite.name!r}, instance {episode.instance.id!r}: the goal of task {task.name!r} already"
                " holds at reset, so every agent would succeed; change the scene or the goal"
            )
        progress.first = observation = self.world.observe(privileged=self.manifest.privileged)
        start = EpisodeStart(
            instruction=setup.instruction,
            observation=observation,
            robot=self.world.robot,
            control_rate=self.manifest.control_rate,
            rng=generator(self._own_seed(episode), "agent"),
        )
        self._ask(progress, "reset", self.agent.reset, start)
        while True:
            returned = self._ask(progress, "act", self.agent.act, observation)
            action: Action = checked_action(returned, self.agent_name, self.manifest.actions)
            if isinstance(action, Answer):
                raise AgentError(
                    f"agent {self.agent_name!r}: act() returned an Answer, but task {task.name!r} is a manipulation"
                    " task; return a motion or Stop"
                )
            if isinstance(action, Stop):
                self._follow(progress, monitor, self.world.settle(SETTLE_AFTER_STOP), task.limit + SETTLE_AFTER_STOP)
                return ("success", "goal") if monitor.succeeded else ("failure", action.reason)
            if self._follow(progress, monitor, self.world.execute(action), task.limit):
                return ("success", "goal") if monitor.succeeded else ("failure", "time_limit")
            observation = self.world.observe(privileged=self.manifest.privileged)

    def _follow(self, progress: _Progress, monitor: TaskMonitor, ticks: Iterator[Tick], limit: float) -> bool:
        """Consume ticks until the goal is confirmed, the time is up (both True) or they end (False)."""
        assert progress.recorder is not None
        begin = time.perf_counter()
        try:
            for tick in ticks:
                progress.recorder.add(tick)
                progress.clipped += tick.clipped
                progress.end = tick.state.time
                if tick.events:
                    progress.events.extend(Event(round(tick.state.time, 9), name) for name in tick.events)
                monitor.update(tick.state)
                if monitor.succeeded or tick.state.time >= limit - 1e-9:
                    return True
            return False
        finally:
            progress.world_seconds += time.perf_counter() - begin

    def _ask(self, progress: _Progress, method: str, call: Any, argument: Any) -> Any:
        """Call into agent code; whatever it raises becomes an AgentError with the agent's name."""
        begin = time.perf_counter()
        try:
            if method == "act":
                progress.calls += 1
            return call(argument) if argument is not None else call()
        except (AgentError, InfrastructureError, StartError, StoppedEarly):
            raise
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as problem:  # an agent may raise anything, SystemExit included
            raise AgentError(f"agent {self.agent_name!r}: {method}() raised {_text(problem)}") from problem
        finally:
            progress.agent_seconds += time.perf_counter() - begin

    def _finish(
        self,
        episode: Episode,
        progress: _Progress,
        outcome: Outcome,
        reason: str,
        error: str | None,
        started: float,
    ) -> Finished:
        instance = episode.instance
        setup = self.manager.setup(instance)
        jitter = block_jitter(self.suite, instance, episode.repeat, self.seed)
        report, error, outcome, reason = self._report(progress, outcome, reason, error)
        monitor = progress.monitor
        events = sorted([*progress.events, *(monitor.events if monitor else [])], key=lambda e: (e.time, e.name))
        trajectory = progress.recorder.trajectory().to_bytes() if progress.recorder else b""
        record = EpisodeRecord(
            episode=episode.id,
            instance=instance.id,
            repeat=episode.repeat,
            task=instance.task,
            dimension=instance.dimension,
            context=instance.context,
            levels=dict(instance.levels),
            values=self.manager.values(instance),
            jitter=jitter,
            seed=self.seed,
            outcome=outcome,
            reason=reason,
            success=outcome == "success",
            score=monitor.score if monitor else 0.0,
            steps=progress.recorder.ticks if progress.recorder else 0,
            sim_seconds=round(progress.end, 9),
            events=tuple(events),
            instruction=setup.instruction,
            hashes=Hashes(
                scene=jittered(setup, jitter).scene.hash(),
                state=progress.state_hash,
                first_frame=_frame_hashes(progress.first),
            ),
            error=error,
            agent={"calls": progress.calls, "clipped": progress.clipped, "report": report},
            timing={
                "total": time.perf_counter() - started,
                "reset": progress.reset_seconds,
                "agent": progress.agent_seconds,
                "world": progress.world_seconds,
            },
        )
        return Finished(record, trajectory, self.world.provenance())

    def _report(
        self, progress: _Progress, outcome: Outcome, reason: str, error: str | None
    ) -> tuple[Any, str | None, Outcome, str]:
        """What the agent says about the episode; a report that fails is an agent error of this episode."""
        try:
            return to_plain(self._ask(progress, "report", self.agent.report, None)), error, outcome, reason
        except TypeError as problem:
            message = f"agent {self.agent_name!r}: report() must return plain data; {problem}"
        except (AgentError, InfrastructureError) as problem:
            message = _text(problem)
        if outcome in ("success", "failure"):
            return {}, message[:ERROR_LIMIT], "agent_error", "agent_error"
        return {}, error, outcome, reason

    def _own_seed(self, episode: Episode) -> Any:
        instance = episode.instance
        return block_seed(self.seed, self.suite.name, instance.task, instance.context, episode.repeat, salt=instance.id)


def _frame_hashes(observation: Observation | None) -> dict[str, str]:
    """SHA-256 of every colour image that was read of the first observation."""
    if observation is None:
        return {}
    return {name: hash_frame(view.rgb) for name, view in observation.cameras.items() if "rgb" in view.read}


def hash_frame(image: npt.NDArray[np.uint8]) -> str:
    """SHA-256 of an image's pixels."""
    return hashlib.sha256(image.tobytes()).hexdigest()


def _text(problem: BaseException) -> str:
    """One line: the message, with the type in front unless it is one of rbench's own errors."""
    message = " ".join(str(problem).split())
    if not isinstance(problem, (AgentError, InfrastructureError, UnstableSimulation)):
        message = f"{type(problem).__name__}: {message}" if message else type(problem).__name__
    return message[:ERROR_LIMIT]
