"""From a suite to its instances, and from an instance to its scene and instruction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from rbench.design import Context, Design, Dimension, Instance
from rbench.errors import UsageError, did_you_mean
from rbench.scene import Setup
from rbench.suites.suite import BASE, Suite, SuiteFactor
from rbench.tasks.task import Task


class RecursiveVariantTaskManager:
    """Walks the samplers of a suite and yields its instances lazily (RoboView-Bias 5.3).

    Holds nothing per instance: a million of them take no more memory than one.
    """

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._base_setups: dict[str, Setup] = {}
        self._latest: tuple[Instance, Setup] | None = None

    def instances(self, dimensions: Sequence[Dimension] | None = None) -> Iterator[Instance]:
        """The instances of the dimensions (by default all), task by task, in the order of the design."""
        for task in self._suite.tasks:
            for dimension in self._suite.dimensions if dimensions is None else dimensions:
                for levels in _combinations(tuple(dimension.levels.items()), {}):
                    for context in dimension.contexts:
                        yield self.cell(task, dimension, levels, context)

    def cell(self, task: Task, dimension: Dimension, levels: Mapping[str, str], context: str) -> Instance:
        """The instance of a task, dimension, level of each of its factors, and context."""
        parts = (dimension.name, "+".join(levels.values()), context)
        return Instance(
            id="/".join((task.name, *parts) if len(self._suite.tasks) > 1 else parts),
            task=task.name,
            dimension=dimension.name,
            context=context,
            levels={**self._baselines, **self._suite.context(context).levels, **levels},
            repeats=dimension.repeats,
        )

    def instance(self, id: str) -> Instance:
        """The instance of an id, found by its parts.

        Raises:
            UsageError: there is no such instance; names the part that is wrong, and what is near it.
        """
        parts = id.split("/")
        several = len(self._suite.tasks) > 1
        if len(parts) != 3 + several:
            form = "TASK/DIMENSION/LEVEL/CONTEXT" if several else "DIMENSION/LEVEL/CONTEXT"
            raise UsageError(
                f"{id!r} is no instance id of suite {self._suite.name!r}: it needs the form {form}. "
                f"See `rbench instances {self._suite.name}`."
            )
        task = self._suite.task(parts[0]) if several else self._suite.tasks[0]
        dimension = self._suite.dimension(parts[-3])
        names = parts[-2].split("+")
        if len(names) != len(dimension.levels):
            raise self._unknown(id, f"dimension {dimension.name!r} takes {len(dimension.levels)} level(s)")
        for (factor, known), name in zip(dimension.levels.items(), names, strict=True):
            if name not in known:
                raise self._unknown(id, f"{factor} has no level {name!r} there.{did_you_mean(name, known)}")
        if parts[-1] not in dimension.contexts:
            raise self._unknown(id, f"it has no context {parts[-1]!r}.{did_you_mean(parts[-1], dimension.contexts)}")
        return self.cell(task, dimension, dict(zip(dimension.levels, names, strict=True)), parts[-1])

    def base_setup(self, task: Task) -> Setup:
        """The task's scene and instruction before any factor, with the suite's viewpoint cameras marked."""
        if task.name not in self._base_setups:
            scene = self._suite.scenes[task.scene]
            cameras = tuple(
                replace(camera, viewpoint=camera.name in self._suite.viewpoint_cameras) for camera in scene.cameras
            )
            self._base_setups[task.name] = Setup(replace(scene, cameras=cameras), task.instruction)
        return self._base_setups[task.name]

    def setup(self, instance: Instance) -> Setup:
        """The scene and instruction of an instance: context factors first, then visual ones, in suite order.

        Without jitter. A baseline that is one of its factor's levels is applied like any other level;
        one that is not leaves the setup unchanged.
        """
        if self._latest is not None and self._latest[0] is instance:  # an episode asks more than once
            return self._latest[1]
        setup = self.base_setup(self._suite.task(instance.task))
        for factor in self._order:
            name = instance.levels[factor.name]
            if factor.changes(name):
                setup = factor.factor.apply(setup, factor.level(name))
        self._latest = (instance, setup)
        return setup

    def values(self, instance: Instance) -> dict[str, Any]:
        """The value of every factor's level; None for a baseline that leaves the setup unchanged."""
        return {name: self._suite.factors[name].level(level).value for name, level in instance.levels.items()}

    def design(self, planned: Mapping[str, int], dimensions: Sequence[Dimension] | None = None) -> Design:
        """What metrics know of the suite.

        Args:
            planned: episodes planned in each dimension.
            dimensions: the dimensions as the run plans them (by default the suite's).
        """
        chosen = tuple(self._suite.dimensions if dimensions is None else dimensions)
        used = {name for dimension in chosen for name in dimension.contexts}
        groups = {name: self._groups(name, chosen) for dimension in chosen for name in dimension.factors}
        contexts: list[Context] = [context for context in self._suite.contexts if context.name in used]
        if BASE in used and all(context.name != BASE for context in contexts):
            contexts.append(self._suite.context(BASE))
        return Design(
            suite=self._suite.name,
            dimensions=chosen,
            contexts=tuple(contexts),
            baselines=dict(self._baselines),
            seeds=self._suite.protocol.seeds,
            planned=dict(planned),
            groups={name: found for name, found in groups.items() if found},
        )

    def _groups(self, factor: str, dimensions: Sequence[Dimension]) -> dict[str, str]:
        """The groups of the levels that the dimensions use of a factor."""
        known = self._suite.factors[factor].factor.groups
        used = {level for dimension in dimensions for level in dimension.levels.get(factor, ())}
        return {level: group for level, group in known.items() if level in used}

    @cached_property
    def _baselines(self) -> dict[str, str]:
        return {name: factor.baseline for name, factor in self._suite.factors.items()}

    @cached_property
    def _order(self) -> tuple[SuiteFactor, ...]:
        return tuple(sorted(self._suite.factors.values(), key=lambda factor: factor.role != "context"))

    def _unknown(self, id: str, reason: str) -> UsageError:
        return UsageError(
            f"suite {self._suite.name!r} has no instance {id!r}: {reason} See `rbench instances {self._suite.name}`."
        )


def _combinations(factors: tuple[tuple[str, tuple[str, ...]], ...], chosen: dict[str, str]) -> Iterator[dict[str, str]]:
    """Every choice of one level a factor: the first factor's levels, and below each the rest, recursively."""
    if not factors:
        yield chosen
        return
    (name, levels), *rest = factors
    for level in levels:
        yield from _combinations(tuple(rest), {**chosen, name: level})
