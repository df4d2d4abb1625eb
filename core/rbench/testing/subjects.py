"""What is checked: something that makes fresh agents, plays episodes with them, and remembers what it saw."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from rbench.errors import PluginError, RbenchError, StartError, one_line
from rbench.interfaces.agent import Agent, AgentManifest
from rbench.interfaces.world import World
from rbench.plugins.catalog import Catalog, CatalogEntry, build_catalog
from rbench.plugins.importing import stdout_to_stderr
from rbench.plugins.trial import trial_entry
from rbench.running.agents import ResolvedAgent, build_agent, effective_manifest, resolve_agent
from rbench.running.description import Part, RunDescription
from rbench.running.worker import build_world
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.testing.checks import CheckSkipped
from rbench.testing.elsewhere import problem_elsewhere
from rbench.testing.playing import AS_IT_IS, Change, Played, play
from rbench.testing.scenarios import baselines
from rbench.testing.worlds import drawing_problem, fake_world, settle_gl

#: The suite whose world and episodes the checks in the real world use.
SUITE = "roboview-bias"
#: Calls of `act` after which an episode is cut where only equality matters.
CALLS = 8


@dataclass(frozen=True)
class Expectations:
    """What is expected beyond the contract.

    Attributes:
        competent: it solves the task at the baseline, at least sometimes.
        time_limit: seconds that a call of `act` may take, the first one of an agent aside.
        slow: whether a slower call fails its check, or is only worth a warning.
        world: `auto` plays what needs a real world there when pictures can be drawn here; `fake` never does.
        changes: what a wrapper may change (`instruction`, `observations`, ...); None: anything, and it is only told.
        scene: what a factor is applied to: a built-in scene or the path of a TOML file.
        baseline: the level of a factor that shows what the scene shows; None: whichever it is, if any.
        start_limit: seconds that an agent or wrapper may take to be imported, made and closed in another process before
            it is made here; 0: any time; None: it is made here at once.
    """

    competent: bool = False
    time_limit: float = 5.0
    slow: Literal["fail", "warn"] = "fail"
    world: Literal["auto", "fake"] = "auto"
    changes: tuple[str, ...] | None = None
    scene: str = "tabletop"
    baseline: str | None = None
    start_limit: float | None = None


class Subject(Protocol):
    """What every kind of subject has; its checks know the rest."""

    kind: str
    name: str

    @property
    def entry(self) -> CatalogEntry:
        """The contribution under test."""

    def prepare(self) -> None:
        """Say at once what no check can say better.

        Raises:
            UsageError: an unknown name or option.
            StartError: a library that it needs is missing. PluginError: its plugin is not usable.
        """


class AgentSubject:
    """An agent under test, by name or `module:attribute`, with its options and the vision model it is given.

    Attributes:
        odd: episodes with odd pictures, once they were played: check -> what the agent did.
    """

    kind = "agent"

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        *,
        vision: str | None = None,
        vision_options: Mapping[str, Any] | None = None,
        folder: str | Path | None = None,
        expectations: Expectations | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        self.name = name
        self.part = part_of(name, options, folder)
        self.vision = part_of(vision, vision_options, folder) if vision else None
        self.expect = expectations or Expectations()
        self._catalog = catalog
        self.odd: dict[str, Played] = {}
        self._attempts: dict[str, tuple[Played, ...]] = {}

    @cached_property
    def catalog(self) -> Catalog:
        """What is installed."""
        return self._catalog or build_catalog()

    @property
    def description(self) -> RunDescription:
        """A run of it, as workers are told."""
        return RunDescription(SUITE, agent=self.part, vision=self.vision)

    @cached_property
    def parts(self) -> ResolvedAgent:
        """Everything it is made of.

        Raises:
            UsageError: an unknown name or option. StartError: its plugin or a library it needs is not usable.
        """
        return resolve_agent(self.catalog, self.description)

    def prepare(self) -> None:
        settle_gl()  # what is loaded now may import the simulator
        try:
            _ = self.entry  # an unknown name needs no other process
            if self.expect.start_limit is not None:
                self._try_elsewhere(self.expect.start_limit)
            self.entry.load()
            with contextlib.suppress(PluginError):  # options that are the plugin's own fault are found by a check
                _ = self.parts
        except RbenchError:
            raise
        except Exception as problem:
            raise StartError(f"{self.kind} {self.name!r} could not be loaded: {one_line(problem)}") from problem

    def _try_elsewhere(self, limit: float) -> None:
        problem = problem_elsewhere(self.recipe(), limit)
        if problem is not None:
            raise StartError(
                f"{self.kind} {self.name!r} was tried in another process first, and {problem};"
                " mend its import or its constructor, or give it a longer --start-limit"
            )

    @cached_property
    def entry(self) -> CatalogEntry:
        """The contribution under test.

        Raises:
            UsageError: an unknown name. PluginError: its plugin is not usable.
        """
        if ":" in self.name:
            return trial_entry(self.kind, self.name, self.part.folder)
        return self.catalog.get(self.kind, self.name)

    def recipe(self) -> dict[str, Any]:
        """What makes this subject again in another process, as plain data (`kinds.subject_of`)."""
        return {
            "kind": self.kind,
            "name": self.part.name,
            "options": dict(self.part.options),
            "folder": self.part.folder,
            "vision": self.vision.name if self.vision else None,
            "vision_options": dict(self.vision.options) if self.vision else None,
        }

    def build(self) -> Agent:
        """A fresh agent, made as a run makes it; what its constructor raises is passed on."""
        with stdout_to_stderr():
            return build_agent(self.parts)

    @contextlib.contextmanager
    def fresh(self) -> Iterator[Agent]:
        """A fresh agent, closed afterwards.

        Raises:
            CheckSkipped: it cannot be made, which check `construct` says.
        """
        try:
            agent = self.build()
            effective_manifest(agent)
        except Exception as problem:
            raise CheckSkipped("it could not be made; see check 'construct'") from problem
        try:
            yield agent
        finally:
            with contextlib.suppress(Exception):  # check `lifecycle` says what close() raises
                agent.close()

    @cached_property
    def manifest(self) -> AgentManifest:
        """Its manifest, as the host sees it."""
        with self.fresh() as agent:
            return effective_manifest(agent)

    @cached_property
    def series(self) -> tuple[Played, ...]:
        """The baseline scenarios, one after the other, by one agent in the fake world."""
        self.require_playable()
        with self.fresh() as agent:
            return tuple(play(agent, fake_world(), scenario, calls=CALLS) for scenario in baselines())

    @cached_property
    def alone(self) -> tuple[Played, Played]:
        """The last baseline scenario by itself, in the fake world, by two fresh agents."""
        self.require_playable()
        return (self.play_alone(), self.play_alone())

    def play_alone(self) -> Played:
        """The last baseline scenario by a fresh agent."""
        with self.fresh() as agent:
            return play(agent, fake_world(), baselines()[-1], calls=CALLS)

    def all_played(self) -> tuple[Played, ...]:
        """The series, and the baseline scenarios on the proving ground."""
        return self.series + self.attempts()

    def require_playable(self) -> None:
        """Skip what cannot be checked here: the scenarios are manipulation tasks in one scene.

        Raises:
            CheckSkipped: it takes other tasks, or asks for a camera that the scene does not have.
        """
        if "manipulation" not in self.manifest.kinds:
            raise CheckSkipped(f"it takes {', '.join(self.manifest.kinds)} tasks; the scenarios are manipulation tasks")
        known = [camera.name for camera in baselines()[0].setup.scene.cameras]
        if unknown := [name for name in self.manifest.cameras if name not in known]:
            raise CheckSkipped(f"it asks for camera {unknown[0]!r}; the scene of the checks has {', '.join(known)}")

    @cached_property
    def suite(self) -> Suite:
        """The suite of the checks in the real world.

        Raises:
            CheckSkipped: its plugins are not installed.
        """
        try:
            return load_suite(self.catalog, SUITE)
        except RbenchError as problem:
            raise CheckSkipped(f"suite {SUITE!r} cannot be loaded: {problem}") from problem

    @cached_property
    def real_world_problem(self) -> str | None:
        """Why it cannot be played in the real world, or None."""
        if self.expect.world == "fake":
            return "only the fake world is wanted"
        try:
            _ = self.suite
        except CheckSkipped as why:
            return str(why)
        if self.manifest.cameras:
            return drawing_problem()
        return None

    @contextlib.contextmanager
    def proving_ground(self) -> Iterator[World]:
        """The world in which success counts: the real one where it can be had, else the fake one."""
        if self.real_world_problem is not None:
            yield fake_world()
            return
        world = build_world(self.suite)
        try:
            yield world
        finally:
            world.close()

    def attempts(self, change: Change = AS_IT_IS) -> tuple[Played, ...]:
        """The baseline scenarios on the proving ground to their ends, under a change; remembered."""
        self.require_playable()
        if change.name not in self._attempts:
            with self.fresh() as agent, self.proving_ground() as world:
                self._attempts[change.name] = tuple(play(agent, world, start, change=change) for start in baselines())
        return self._attempts[change.name]

    def successes(self, change: Change = AS_IT_IS) -> int:
        """How many of the baseline scenarios it solves under a change."""
        return sum(played.outcome == "success" for played in self.attempts(change))


def part_of(name: str, options: Mapping[str, Any] | None, folder: str | Path | None) -> Part:
    """A part of a run; an unpackaged one is imported from `folder`, by default the working directory."""
    unpackaged = str(Path.cwd() if folder is None else folder) if ":" in name else None
    return Part(name, dict(options or {}), unpackaged)
