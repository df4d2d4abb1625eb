"""Suites as values: what a suite file means once its factors are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from rbench.design import Context, Dimension, Level
from rbench.errors import UsageError, did_you_mean
from rbench.interfaces.factor import Factor
from rbench.scene import SceneDescription
from rbench.suites.accepted import Accepted
from rbench.suites.fairness import FairnessRules
from rbench.tasks.task import Task

#: The context in which every context factor has its baseline. A dimension can name it even when the
#: scheme of contexts does not list it.
BASE = "base"


@dataclass(frozen=True, eq=False)
class SuiteFactor:
    """A factor as a suite uses it.

    Attributes:
        name: its name in ids and tables.
        role: `visual` factors are studied, `context` factors diversify.
        baseline: name of the setting it has when it is not the one varied; outside `levels`: unchanged.
        distribution: the distribution its sampler comes from. sampler: the sampler's name there.
        options: the sampler's options, defaults included.
    """

    name: str
    factor: Factor
    role: Literal["visual", "context"]
    baseline: str
    levels: tuple[Level, ...]
    distribution: str
    options: Mapping[str, Any]
    sampler: str = ""

    @cached_property
    def _by_name(self) -> dict[str, Level]:
        return {level.name: level for level in self.levels}

    @property
    def level_names(self) -> tuple[str, ...]:
        return tuple(level.name for level in self.levels)

    def level(self, name: str) -> Level:
        """The level of that name; a baseline that is not one of the levels has the value None.

        Raises:
            UsageError: there is no such level.
        """
        if (level := self._by_name.get(name)) is not None:
            return level
        if name == self.baseline:
            return Level(name, None)
        raise UsageError(
            f"factor {self.name!r} has no level {name!r}.{did_you_mean(name, self._by_name)} Name one of its levels."
        )

    def changes(self, name: str) -> bool:
        """Whether this level is applied; a baseline that is not one of the levels leaves the setup unchanged."""
        return name in self._by_name


@dataclass(frozen=True)
class Protocol:
    """How often and with what jitter: metres and degrees, half widths of uniform distributions."""

    repeats: int = 5
    seeds: Literal["shared", "independent"] = "shared"
    jitter_xy: float = 0.010
    jitter_yaw: float = 20.0


@dataclass(frozen=True)
class Preset:
    """A named part of a suite. None, and factors that `levels` does not name, mean: all."""

    contexts: tuple[str, ...] | None = None
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    repeats: int | None = None
    grid: bool = True


@dataclass(frozen=True, eq=False)
class Suite:
    """A benchmark: tasks, factors, design and protocol.

    Attributes:
        hash: SHA-256 over everything that decides what an episode is; see `suite_hash`.
        source: what `load_suite` takes to load it again: `DISTRIBUTION/NAME` or the path of its file.
        render: name of the render profile.
        viewpoint_cameras: the cameras on which viewpoint factors act.
        scenes: every scene that a task names, by that name.
        factors: in suite order.
        contexts: those of the scheme; `context()` knows `base` in any case.
        dimensions: single factors in suite order, then grids.
        validation: when its pictures count as fair.
        validated: what says that they are; None when nothing does of this version of the suite.
    """

    name: str
    hash: str
    source: str
    world: str
    render: str
    viewpoint_cameras: tuple[str, ...]
    extrinsics: Literal["true", "nominal"]
    metrics: tuple[str, ...]
    tasks: tuple[Task, ...]
    scenes: Mapping[str, SceneDescription]
    factors: Mapping[str, SuiteFactor]
    contexts: tuple[Context, ...]
    dimensions: tuple[Dimension, ...]
    protocol: Protocol
    presets: Mapping[str, Preset]
    requires: tuple[str, ...] = ()
    validation: FairnessRules = field(default_factory=FairnessRules)
    validated: Accepted | None = None

    def task(self, name: str) -> Task:
        """The task of that name. Raises UsageError with near names."""
        for task in self.tasks:
            if task.name == name:
                return task
        raise self._unknown("task", name, [task.name for task in self.tasks])

    def factor(self, name: str) -> SuiteFactor:
        """The factor of that name. Raises UsageError with near names."""
        if name in self.factors:
            return self.factors[name]
        raise self._unknown("factor", name, list(self.factors))

    def dimension(self, name: str) -> Dimension:
        """The dimension of that name. Raises UsageError with near names."""
        for dimension in self.dimensions:
            if dimension.name == name:
                return dimension
        raise self._unknown("dimension", name, [dimension.name for dimension in self.dimensions])

    def context(self, name: str) -> Context:
        """The context of that name, `base` included. Raises UsageError with near names."""
        if (context := self._context_by_name.get(name)) is not None:
            return context
        raise self._unknown("context", name, list(self._context_by_name))

    @cached_property
    def _context_by_name(self) -> dict[str, Context]:
        base = Context(BASE, {f.name: f.baseline for f in self.factors.values() if f.role == "context"})
        return {BASE: base, **{context.name: context for context in self.contexts}}

    def instances(self, dimensions: Sequence[Dimension] | None = None) -> int:
        """How many instances the dimensions have (by default all): arithmetic, nothing is walked."""
        chosen = self.dimensions if dimensions is None else dimensions
        return len(self.tasks) * sum(d.cells * len(d.contexts) for d in chosen)

    def episodes(self, dimensions: Sequence[Dimension] | None = None) -> int:
        """How many episodes the dimensions have (by default all)."""
        chosen = self.dimensions if dimensions is None else dimensions
        return len(self.tasks) * sum(d.cells * len(d.contexts) * d.repeats for d in chosen)

    def _unknown(self, what: str, name: str, known: list[str]) -> UsageError:
        return UsageError(
            f"suite {self.name!r} has no {what} {name!r}.{did_you_mean(name, known)} See `rbench show {self.name}`."
        )
