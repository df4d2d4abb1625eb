"""Playing an agent in a world while watching what it does to what it was given."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from rbench.action import Action, Answer, Stop, checked_action
from rbench.errors import AgentError, one_line
from rbench.interfaces.agent import Agent, AgentManifest, EpisodeStart
from rbench.interfaces.world import Tick, World
from rbench.observation import CameraRequest, CameraView, Channel, GroundTruth, Observation
from rbench.running.agents import effective_manifest
from rbench.seeding import block_seed, generator
from rbench.tasks.monitor import TaskMonitor
from rbench.testing.actions import Flaw, difference, flaws, plain
from rbench.testing.scenarios import TASK, Scenario
from rbench.values import to_plain

#: Simulated seconds after `Stop`, as in runs.
SETTLE = 1.0

Outcome = Literal["success", "failure", "raised", "flawed", "cut"]


@dataclass(frozen=True)
class Change:
    """A change between agent and world: of pictures on the way in, of actions on the way out."""

    name: str = ""
    see: Callable[[Channel, npt.NDArray[Any]], npt.NDArray[Any]] | None = None
    do: Callable[[Action], Action] | None = None


AS_IT_IS = Change()


@dataclass
class Played:
    """What an agent did in one episode.

    Attributes:
        returned: its actions, copied when they were returned.
        outcome: `raised` when a method raised, `flawed` when an action could not be executed, `cut` when it was stopped
            after a number of calls.
        raised: what a method raised; `method` is which.
        seconds: of each call of `act`, without the drawing of pictures.
        read: the pictures that were read, (camera, channel).
        written: the arrays of observations that were not as before when it was done.
        peeked: it asked for ground truth.
        printed: what went to stdout.
    """

    scenario: str
    returned: list[Any] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)
    outcome: Outcome = "cut"
    reason: str = ""
    raised: BaseException | None = None
    method: str = ""
    seconds: list[float] = field(default_factory=list)
    report: Any = None
    timing: Any = field(default_factory=dict)
    read: set[tuple[str, str]] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    peeked: bool = False
    printed: str = ""

    @property
    def signature(self) -> str:
        """SHA-256 of all that it did: actions byte for byte, ending, report."""
        ending = (self.outcome, self.reason, self.method, type(self.raised).__name__, _text(self.report))
        return hashlib.sha256(repr(([plain(action) for action in self.returned], ending)).encode()).hexdigest()

    def difference(self, other: Played) -> str:
        """The first thing in which two episodes differ, for messages."""
        for number, (a, b) in enumerate(zip(self.returned, other.returned, strict=False), 1):
            if plain(a) != plain(b):
                return f"in what call {number} of act() returned, {difference(a, b)}"
        if len(self.returned) != len(other.returned):
            return f"act() was called {len(other.returned)} times instead of {len(self.returned)}"
        if _text(self.report) != _text(other.report):
            return f"report() returned {other.report!r:.120} instead of {self.report!r:.120}"
        return f"it ended as {other.outcome} {other.reason!r} instead of {self.outcome} {self.reason!r}"


def play(
    agent: Agent, world: World, scenario: Scenario, *, calls: int | None = None, change: Change = AS_IT_IS
) -> Played:
    """Play one episode as a run would, until it ends or `act` was called `calls` times.

    Nothing that the agent raises leaves this function, except KeyboardInterrupt.
    """
    return _Player(agent, world, scenario, change).play(calls)


class _Player:
    def __init__(self, agent: Agent, world: World, scenario: Scenario, change: Change) -> None:
        self.agent = agent
        self.world = world
        self.scenario = scenario
        self.change = change
        self.played = Played(scenario.name)
        self.monitor = TaskMonitor(TASK)
        self.drawing = 0.0
        self._given: list[tuple[str, npt.NDArray[Any], str]] = []
        self._since = 0

    def play(self, calls: int | None) -> Played:
        played = self.played
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.suppress(_Ended):
            self._play(calls)
        with contextlib.redirect_stdout(printed), contextlib.suppress(_Ended):
            played.report = self._call("report", self.agent.report)
            played.timing = self._call("timing", self.agent.timing)
        self._compare()
        self._given.clear()
        played.printed = printed.getvalue()
        return played

    def _play(self, calls: int | None) -> None:
        manifest = effective_manifest(self.agent)
        self.world.reset(self.scenario.setup, control_rate=manifest.control_rate, cameras=manifest.cameras)
        self.monitor.update(self.world.state())
        observation = self._observe(manifest)
        self._call("reset", self.agent.reset, start_of(self.scenario, self.world, observation, manifest))
        while calls is None or len(self.played.seconds) < calls:
            before, drawing = time.perf_counter(), self.drawing
            returned = self._call("act", self.agent.act, observation)
            self.played.seconds.append(time.perf_counter() - before - (self.drawing - drawing))
            self._compare(self._since)
            action = self._checked(returned, manifest)
            if isinstance(action, (Stop, Answer)):
                reason = action.reason if isinstance(action, Stop) else "answer"
                self._follow(self.world.settle(SETTLE), TASK.limit + SETTLE)
                self._finish(reason)
            elif self._follow(self.world.execute(action), TASK.limit):
                self._finish("time_limit")
            observation = self._observe(manifest)

    def _observe(self, manifest: AgentManifest) -> Observation:
        self._since = len(self._given)
        seen = self.world.observe(privileged=manifest.privileged)
        return WatchedObservation(seen, self.change, self)

    def _checked(self, returned: Any, manifest: AgentManifest) -> Action:
        played = self.played
        played.returned.append(_copied(returned))
        call = len(played.returned)
        found = [replace(flaw, call=call) for flaw in flaws(returned, manifest, self.world.robot)]
        played.flaws += found
        try:
            action = checked_action(returned, "it", manifest.actions)
        except AgentError as problem:
            if not found:
                played.flaws.append(Flaw("chunk-shape", str(problem), "do what the message says", call))
            self._end("flawed", str(problem))
        return self.change.do(action) if self.change.do else action

    def _follow(self, ticks: Iterator[Tick], limit: float) -> bool:
        for tick in ticks:
            self.monitor.update(tick.state)
            if self.monitor.succeeded or tick.state.time >= limit - 1e-9:
                return True
        return False

    def _call(self, method: str, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # an agent may raise anything, SystemExit included
            if self.played.raised is None:
                self.played.raised, self.played.method = problem, method
            self._end("raised", one_line(problem))

    def _finish(self, reason: str) -> NoReturn:
        self._end(*("success", "goal") if self.monitor.succeeded else ("failure", reason))

    def _end(self, outcome: Outcome, reason: str) -> NoReturn:
        self.played.outcome, self.played.reason = outcome, reason
        raise _Ended

    def give(self, name: str, array: npt.NDArray[Any]) -> None:
        """Remember an array that the agent now holds."""
        self._given.append((name, array, _digest(array)))

    def _compare(self, since: int = 0) -> None:
        self.played.written |= {name for name, array, digest in self._given[since:] if _digest(array) != digest}


class _Ended(Exception):
    """The episode is over."""


class WatchedObservation(Observation):
    """An observation that tells its player what is read of it."""

    def __init__(self, seen: Observation, change: Change, player: _Player) -> None:
        self._seen = seen
        self._player = player
        super().__init__(
            time=seen.time,
            cameras={name: _watched_view(view, change, player) for name, view in seen.cameras.items()},
            joint_positions=seen.joint_positions,
            joint_velocities=seen.joint_velocities,
            gripper=seen.gripper,
            end_effector=seen.end_effector,
        )
        player.give("joint_positions", self.joint_positions)
        player.give("joint_velocities", self.joint_velocities)

    @property
    def ground_truth(self) -> GroundTruth:
        self._player.played.peeked = True
        return self._seen.ground_truth


def _watched_view(view: CameraView, change: Change, player: _Player) -> CameraView:
    def read(channel: Channel) -> npt.NDArray[Any]:
        before = time.perf_counter()
        image: npt.NDArray[Any] = view.rgb if channel == "rgb" else view.depth
        if change.see is not None:
            image = change.see(channel, image).copy()
        player.drawing += time.perf_counter() - before
        player.played.read.add((view.name, channel))
        player.give(f"cameras[{view.name!r}].{channel}", image)
        return image

    request = CameraRequest(view.height, view.width, view.channels)
    return CameraView(view.name, request, view.intrinsics, lambda: view.extrinsics, read)


def start_of(scenario: Scenario, world: World, observation: Observation, manifest: AgentManifest) -> EpisodeStart:
    """The start of an episode as an agent is given it; `scenario.seed` seeds its generator."""
    seed = block_seed(scenario.seed, "rbench.testing", TASK.name, scenario.name, 0)
    return EpisodeStart(
        instruction=scenario.setup.instruction,
        observation=observation,
        robot=world.robot,
        control_rate=manifest.control_rate,
        rng=generator(seed, "agent"),
    )


def _copied(action: Any) -> Any:
    """The action as it was returned: an agent may go on to write into its arrays."""
    rows = getattr(action, "rows", None)
    return type(action)(rows.copy()) if isinstance(rows, np.ndarray) else action


def _digest(array: npt.NDArray[Any]) -> str:
    return hashlib.sha1(array.tobytes(), usedforsecurity=False).hexdigest()


def _text(report: Any) -> str:
    try:
        return json.dumps(to_plain(report), sort_keys=True)
    except (TypeError, ValueError):
        return f"a {type(report).__name__} without a plain form"
