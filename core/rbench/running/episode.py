"""One episode: joins a world and an agent, and ends in a record.

Outcomes (design section 8): an agent that raises or breaks its contract costs this episode and
counts as `agent_error`; a diverged simulation is `unstable`; an `InfrastructureError` from
anywhere, and whatever else goes wrong outside agent code, is not the agent's fault. Errors that make the whole
run pointless (`StartError`, `StoppedEarly`, `UsageError`) pass through.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rbench.action import Action, Answer, Stop, checked_action
from rbench.design import Episode
from rbench.errors import (
    AgentError,
    InfrastructureError,
    RbenchError,
    StartError,
    StoppedEarly,
    UnstableSimulation,
    UsageError,
    message_of,
    one_line,
)
from rbench.interfaces.agent import Agent, AgentManifest, EpisodeStart
from rbench.interfaces.world import Tick, World
from rbench.observation import Channel, Draw, Observation
from rbench.record import EpisodeRecord, Event, Outcome
from rbench.results.provenance import cleared
from rbench.running.jitter import block_jitter
from rbench.running.phases import Phase, PhaseMarker
from rbench.running.recorder import TrajectoryRecorder
from rbench.running.stage_truth import stage_truth
from rbench.running.unplayed import unplayed_record
from rbench.scene import Setup, jittered
from rbench.seeding import block_seed, generator
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.tasks.monitor import TaskMonitor
from rbench.values import from_plain, to_plain
from rbench.vision.metering import VisionMeter
from rbench.vision.transcripts import Transcript

#: Simulated seconds that the world settles after `Stop` before it is scored as it stands.
SETTLE_AFTER_STOP = 1.0

#: Longest error text kept in a record.
ERROR_LIMIT = 2000

#: Reason of an episode whose worker process ended, or in which agent code asked for that.
WORKER_LOST = "worker_lost"

#: Reason of an episode in which there was nothing to do.
GOAL_AT_RESET = "goal_at_reset"

T = TypeVar("T")

_log = logging.getLogger("rbench.running")


class _AskedToExit(AgentError):
    """Agent code raised `SystemExit`."""


class _NothingToDo(InfrastructureError):
    """The goal holds before anything was done: the episode says nothing about the agent."""


@dataclass(frozen=True)
class Finished:
    """A record with its compressed trajectory (empty when the world was never reset).

    `provenance` is what else there is to know where the record is kept: which simulator and renderer made it
    (`World.provenance`), and the transcript.
    """

    record: EpisodeRecord
    trajectory: bytes
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def transcript(self) -> Transcript | None:
        """What was asked of vision models that keep one, or None."""
        plain = self.provenance.get("transcript")
        return None if plain is None else from_plain(Transcript, plain)


@dataclass
class _Progress:
    """What is known of the episode so far, so that an error at any point still makes a whole record."""

    events: list[Event] = field(default_factory=list)
    calls: int = 0
    clipped: int = 0
    report: Mapping[str, Any] = field(default_factory=dict)
    first_frames: dict[str, str] = field(default_factory=dict)
    state_hash: str = ""
    misread: str | None = None
    reset_seconds: float = 0.0
    agent_seconds: float = 0.0
    render_seconds: float = 0.0
    agent_timing: Mapping[str, float] = field(default_factory=dict)
    world_seconds: float = 0.0
    setup: Setup | None = None
    recorder: TrajectoryRecorder | None = None
    monitor: TaskMonitor | None = None
    end: float = 0.0


class EpisodeRunner:
    """Runs episodes of one suite with one agent in one world, one after the other."""

    def __init__(
        self,
        suite: Suite,
        world: World,
        agent: Agent,
        agent_name: str,
        manifest: AgentManifest,
        seed: int,
        phase: PhaseMarker | None = None,
        secrets: frozenset[str] = frozenset(),
        vision: VisionMeter | None = None,
    ) -> None:
        self.suite = suite
        self.manager = RecursiveVariantTaskManager(suite)
        self.world = world
        self.agent = agent
        self.agent_name = agent_name
        self.manifest = manifest
        self.seed = seed
        self.phase = PhaseMarker() if phase is None else phase
        self._vision = VisionMeter() if vision is None else vision
        self._secrets = secrets | self._vision.secrets
        self._tasks = {task.name: task for task in suite.tasks}

    def run(self, episode: Episode) -> Finished:
        """Run one episode to its record.

        Raises:
            StartError, StoppedEarly, UsageError: the run as a whole cannot go on.
        """
        started = time.perf_counter()
        progress = _Progress()
        error: str | None = None
        self._vision.begin(episode.id)
        self.phase.enter(Phase.WORLD)
        try:
            try:
                outcome, reason = self._play(episode, progress)
            except RbenchError:
                self._vision.raise_problem()
                raise
            self._vision.raise_problem()
        except (StartError, StoppedEarly, UsageError):
            raise
        except _AskedToExit as problem:
            outcome, reason, error = "agent_error", WORKER_LOST, _text(problem)
        except AgentError as problem:
            outcome, reason, error = "agent_error", "agent_error", _text(problem)
        except UnstableSimulation as problem:
            outcome, reason, error = "unstable", "unstable", _text(problem)
        except _NothingToDo as problem:
            outcome, reason, error = "infrastructure_error", GOAL_AT_RESET, _text(problem)
        except Exception as problem:
            _log.debug("episode %s", episode.id, exc_info=True)
            outcome, reason, error = "infrastructure_error", "infrastructure_error", _text(problem)
        finished = self._finish(episode, progress, outcome, reason, error, started)
        self.phase.enter(Phase.IDLE)
        return finished

    def _play(self, episode: Episode, progress: _Progress) -> tuple[Outcome, str]:
        task = self._tasks[episode.instance.task]
        setup = self.manager.setup(episode.instance)
        setup = jittered(setup, block_jitter(self.suite, episode.instance, episode.repeat, self.seed))
        progress.setup = setup
        begin = time.perf_counter()
        self.world.reset(setup, control_rate=self.manifest.control_rate, cameras=self.manifest.cameras)
        progress.reset_seconds = time.perf_counter() - begin
        progress.state_hash = self.world.fingerprint()
        state = self.world.state()
        progress.recorder = TrajectoryRecorder(self.manifest.control_rate, state)
        progress.monitor = monitor = TaskMonitor(task)
        monitor.update(state)
        if monitor.goal_holds:
            raise _NothingToDo(
                f"suite {self.suite.name!r}, instance {episode.instance.id!r}: the goal of task {task.name!r} already"
                " holds at reset, so every agent would succeed; change the scene or the goal"
            )
        observation = self._observe(progress)
        start = EpisodeStart(
            instruction=setup.instruction,
            observation=observation,
            robot=self.world.robot,
            control_rate=self.manifest.control_rate,
            rng=generator(self._own_seed(episode), "agent"),
        )
        self._ask(progress, Phase.AGENT_RESET, self.agent.reset, start)
        while True:
            progress.calls += 1
            returned = self._ask(progress, Phase.AGENT_ACT, self.agent.act, observation)
            # Looking at what came back runs the agent's code too, when it is an object of its own.
            action: Action = self._ask(
                progress, Phase.AGENT_ACT, checked_action, returned, self.agent_name, self.manifest.actions
            )
            if isinstance(action, Answer):
                raise AgentError(
                    f"agent {self.agent_name!r}: act() returned an Answer, but task {task.name!r} is a manipulation"
                    " task; return a motion or Stop"
                )
            if isinstance(action, Stop):
                end = task.limit + SETTLE_AFTER_STOP
                ahead = partial(monitor.ticks_before, end, self.manifest.control_rate)
                self._follow(progress, monitor, self.world.settle(SETTLE_AFTER_STOP, ahead=ahead), end)
                return ("success", "goal") if monitor.succeeded else ("failure", action.reason)
            ahead = partial(monitor.ticks_before, task.limit, self.manifest.control_rate)
            if self._follow(progress, monitor, self.world.execute(action, ahead=ahead), task.limit):
                return ("success", "goal") if monitor.succeeded else ("failure", "time_limit")
            observation = self._observe(progress)

    def _observe(self, progress: _Progress) -> Observation:
        observation = self.world.observe(privileged=self.manifest.privileged)
        for camera in observation.cameras.values():
            frames = progress.first_frames if progress.calls == 0 else None
            camera.watch(partial(self._watched, progress, camera.name, frames))
        return observation

    def _watched(self, progress: _Progress, name: str, frames: dict[str, str] | None, draw: Draw) -> Draw:
        """Images are drawn when agent code reads them: what fails or takes long there is not the agent's.

        First frames are hashed here, before agent code has them.
        """
        owner = threading.get_ident()

        def drawn(channel: Channel) -> npt.NDArray[Any]:
            if threading.get_ident() != owner:  # OpenGL would belong to that thread from now on, or refuse it
                progress.misread = (
                    f"agent {self.agent_name!r}: camera {name!r} was first read in a thread of the agent's own; read it"
                    " in reset() or act() themselves, and hand the array to threads"
                )
                raise AgentError(progress.misread)
            before = self.phase.now
            self.phase.enter(Phase.RENDERING)
            begin = time.perf_counter()
            try:
                image = draw(channel)
            except RbenchError:
                raise
            except Exception as problem:
                raise InfrastructureError(f"rendering failed: {_text(problem)}; see `rbench doctor`") from problem
            finally:
                progress.render_seconds += time.perf_counter() - begin
                self.phase.enter(before)
            if frames is not None and channel == "rgb":
                frames[name] = hash_frame(image)
            return image

        return drawn

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

    def _ask(self, progress: _Progress, phase: Phase, call: Callable[..., T], *arguments: Any) -> T:
        """Call into agent code; whatever it raises becomes an AgentError with the agent's name."""
        begin, drawing, process = time.perf_counter(), progress.render_seconds, os.getpid()
        self.phase.enter(phase)
        try:
            with np.errstate():  # whatever agent code sets there ends with the call
                result = call(*arguments)
            self.phase.enter(Phase.WORLD)
            return result
        except (AgentError, InfrastructureError, StartError, StoppedEarly):
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # an agent may raise anything
            kind = _AskedToExit if isinstance(problem, SystemExit) else AgentError
            method = phase.words.removeprefix("in ")
            raise kind(f"agent {self.agent_name!r}: {method} raised {_text(problem)}") from problem
        finally:
            if os.getpid() != process:  # a child that agent code forked must not go on as a second runner
                os._exit(0)
            if progress.misread is not None:  # whatever became of the error in that thread
                raise AgentError(progress.misread)
            progress.agent_seconds += time.perf_counter() - begin - (progress.render_seconds - drawing)

    def _finish(
        self,
        episode: Episode,
        progress: _Progress,
        outcome: Outcome,
        reason: str,
        error: str | None,
        started: float,
    ) -> Finished:
        report, error, outcome, reason = self._report(progress, outcome, reason, error)
        report, error, reason = cleared([report, error, reason], self._secrets)
        error = error and error[:ERROR_LIMIT]
        self.phase.enter(Phase.WORLD)
        monitor, recorder = progress.monitor, progress.recorder
        events = sorted([*progress.events, *(monitor.events if monitor else [])], key=lambda e: (e.time, e.name))
        trajectory = recorder.trajectory() if recorder else None
        # Now that the agent has said all it will say, and for the record alone.
        task = self._tasks[episode.instance.task]
        truth = stage_truth(report, trajectory, progress.setup, task, outcome == "success")
        blob = trajectory.to_bytes() if trajectory else b""
        bare = unplayed_record(
            self.suite, self.manager, episode, self.seed, outcome=outcome, reason=reason, error=error
        )
        record = replace(
            bare,
            score=monitor.score if monitor else 0.0,
            steps=recorder.ticks if recorder else 0,
            sim_seconds=round(progress.end, 9),
            events=tuple(events),
            hashes=replace(bare.hashes, state=progress.state_hash, first_frame=progress.first_frames),
            agent={"calls": progress.calls, "clipped": progress.clipped, "report": report, **truth, **self._asked()},
            timing={
                "total": time.perf_counter() - started,
                "reset": progress.reset_seconds,
                "agent": progress.agent_seconds,
                "render": progress.render_seconds,
                "world": progress.world_seconds,
                **({"vision": self._vision.seconds} if self._vision.in_use else {}),
                **progress.agent_timing,
            },
        )
        return Finished(record, blob, {**self.world.provenance(), **self._transcript()})

    def _asked(self) -> dict[str, Any]:
        """What vision models were asked, counted by the runner; nothing when there is none to ask."""
        return {"vision": cleared(self._vision.usage(), self._secrets)} if self._vision.in_use else {}

    def _transcript(self) -> dict[str, Any]:
        transcript = self._vision.transcript()
        return {} if transcript is None else {"transcript": cleared(to_plain(transcript), self._secrets)}

    def _report(
        self, progress: _Progress, outcome: Outcome, reason: str, error: str | None
    ) -> tuple[Any, str | None, Outcome, str]:
        """What the agent says about the episode; a report that fails is an agent error of this episode.

        Unless it is not the agent that fails but what it is asked through: a served agent is lost here, too.
        """
        blame: Outcome = "agent_error"
        try:
            report = self._ask(progress, Phase.AGENT_REPORT, self.agent.report)
            seconds = self._ask(progress, Phase.AGENT_REPORT, self.agent.timing)
            progress.agent_timing = {f"agent.{name}": _seconds(value) for name, value in seconds.items()}
            return to_plain(report), error, outcome, reason
        except InfrastructureError as problem:
            message, blame = _text(problem), "infrastructure_error"
        except AgentError as problem:
            message = _text(problem)
        except Exception as problem:  # a report may be anything, also one that contains itself
            message = (
                f"agent {self.agent_name!r}: report() must return plain data and timing() seconds by name;"
                f" {one_line(problem)}"
            )
        if outcome in ("success", "failure"):
            return {}, message, blame, blame
        return {}, error, outcome, reason

    def _own_seed(self, episode: Episode) -> Any:
        instance = episode.instance
        return block_seed(self.seed, self.suite.name, instance.task, instance.context, episode.repeat, salt=instance.id)


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not isfinite(seconds):
        raise ValueError(f"{seconds} is no time")
    return seconds


def hash_frame(image: npt.NDArray[np.uint8]) -> str:
    """SHA-256 of an image's pixels."""
    return hashlib.sha256(image.tobytes()).hexdigest()


def _text(problem: BaseException) -> str:
    """One line: the message, with the type in front unless it is one of rbench's own errors."""
    message = " ".join(message_of(problem).split())
    if not isinstance(problem, (AgentError, InfrastructureError, UnstableSimulation)):
        message = f"{type(problem).__name__}: {message}" if message else type(problem).__name__
    return message
