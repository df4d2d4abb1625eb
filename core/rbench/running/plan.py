"""The plan of a run: which episodes, in which order."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from math import lcm, prod, sqrt

from rbench.design import Design, Dimension, Episode, Instance
from rbench.errors import UsageError, did_you_mean
from rbench.record import EpisodeRecord
from rbench.running.shards import Shard
from rbench.suites.presets import narrowed
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager

_GOLDEN = (sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Selection:
    """What to run of a suite; every field narrows what the ones before it leave.

    Attributes:
        preset: a named part of the suite.
        dimensions: single factors and grids by name; empty: all.
        instances: patterns of instance ids with `*`, `?` and `[...]`; empty: all.
        repeats: runs of each instance instead of the suite's, grids included.
        limit: at most so many episodes, a prefix of the plan.
        shard: one of several parts of what is left, each a fair sample.
    """

    dimensions: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    limit: int | None = None
    repeats: int | None = None
    preset: str | None = None
    shard: Shard | None = None


class Plan:
    """The planned episodes of a suite, lazily, in an order of which every prefix is a fair sample.

    All of repeat 0 comes before repeat 1. Inside a repeat the dimensions take turns, and each walks its
    levels, contexts and tasks so that after any number of steps they have occurred about equally often.
    The order depends on the suite and the selection alone. Memory does not grow with the number of episodes.

    Raises:
        UsageError: an unknown preset or dimension, a pattern without a match, nothing left to run.
    """

    def __init__(self, suite: Suite, selection: Selection) -> None:
        if selection.limit is not None and selection.limit < 1:
            raise UsageError(f"a limit of {selection.limit} leaves no episodes. Ask for at least 1.")
        self.suite = suite
        self.selection = selection
        self._manager = RecursiveVariantTaskManager(suite)
        self.dimensions = narrowed(
            suite, preset=selection.preset, dimensions=selection.dimensions, repeats=selection.repeats
        )
        self._cells = self._matches()
        self._turns = sum(number > 0 for number in self._cells.values())
        if (shard := selection.shard) is not None and shard.of > (whole := sum(self._whole_counts.values())):
            raise UsageError(f"shard {shard}: the plan has {whole} episodes; make at most so many shards of it")

    def __iter__(self) -> Iterator[Episode]:
        limit, shard = self.selection.limit, self.selection.shard
        episodes = islice(self._episodes(), None if limit is None else min(limit, sys.maxsize))
        if shard is None:
            return episodes
        return (episode for k, episode in enumerate(episodes) if shard.takes(k, self._turns))

    @property
    def count(self) -> int:
        """How many episodes are planned."""
        return sum(self.counts.values())

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many episodes are planned in each dimension that has any.

        Arithmetic on the sizes of the dimensions; nothing is walked (patterns are matched once, when the
        plan is made).
        """
        shard = self.selection.shard
        if shard is None:
            return self._whole_counts
        counts = dict.fromkeys((dimension.name for dimension in self.dimensions), 0)
        position = 0
        for turns, repeats in self._stretches():
            for name, number in shard.counts(turns, position, repeats, self._turns).items():
                counts[name] += number
            position += sum(turns.values()) * repeats
        return {name: number for name, number in counts.items() if number}

    @cached_property
    def _whole_counts(self) -> dict[str, int]:
        """What `counts` would be without shards."""
        counts = dict.fromkeys((dimension.name for dimension in self.dimensions), 0)
        for turns, repeats in self._stretches():
            for name, number in turns.items():
                counts[name] += number * repeats
        return {name: number for name, number in counts.items() if number}

    def _stretches(self) -> Iterator[tuple[dict[str, int], int]]:
        """Repeats that are alike: episodes of each dimension in one of them, and how many there are.

        In a repeat the dimensions take turns until they are used up.
        """
        left = self.selection.limit
        begin = 0
        # Between two of the ends nothing changes from repeat to repeat, however many there are.
        for end in sorted({dimension.repeats for dimension in self.dimensions}):
            sizes = {d.name: self._cells[d.name] for d in self.dimensions if begin < d.repeats}
            each = sum(sizes.values())
            whole = end - begin if left is None else min(end - begin, left // max(each, 1))
            yield sizes, whole
            if left is not None:
                left -= each * whole
                if whole < end - begin:
                    yield _turns(sizes, left), 1
                    break
            begin = end

    @property
    def design(self) -> Design:
        """The design as this plan runs it: the dimensions it leaves, and the episodes planned in each."""
        planned = self.counts
        return self._manager.design(planned, [d for d in self.dimensions if d.name in planned])

    def feedback(self, record: EpisodeRecord) -> None:
        """Take notice of a finished episode. This plan is fixed, so nothing follows from it."""

    def _episodes(self) -> Iterator[Episode]:
        for repeat in range(max(dimension.repeats for dimension in self.dimensions)):
            walks = [self._walk(dimension) for dimension in self.dimensions if repeat < dimension.repeats]
            while walks:
                still = []
                for walk in walks:
                    if (instance := next(walk, None)) is not None:
                        yield Episode(instance, repeat)
                        still.append(walk)
                walks = still

    def _walk(self, dimension: Dimension) -> Iterator[Instance]:
        """The wanted instances of a dimension in plan order."""
        # Counted before, so that the walk ends with the last match and not with the last instance.
        return islice(filter(self._wanted, self._cells_of(dimension)), self._cells[dimension.name])

    def _cells_of(self, dimension: Dimension) -> Iterator[Instance]:
        tasks = self.suite.tasks
        # Contexts and tasks first: they are few, so that also pairs of them are soon even.
        axes = [
            _spread_order(len(dimension.contexts)),
            _spread_order(len(tasks)),
            *(_spread_order(len(levels)) for levels in dimension.levels.values()),
        ]
        for context, task, *levels in _even_walk(axes):
            chosen = {name: known[i] for (name, known), i in zip(dimension.levels.items(), levels, strict=True)}
            yield self._manager.cell(tasks[task], dimension, chosen, dimension.contexts[context])

    def _wanted(self, instance: Instance) -> bool:
        patterns = self.selection.instances
        return not patterns or any(fnmatchcase(instance.id, pattern) for pattern in patterns)

    def _matches(self) -> dict[str, int]:
        """How many instances of each dimension are wanted; every pattern must match at least one."""
        patterns = self.selection.instances
        if not patterns:
            return {dimension.name: self.suite.instances([dimension]) for dimension in self.dimensions}
        unmatched = set(patterns)
        matches = dict.fromkeys((dimension.name for dimension in self.dimensions), 0)
        for instance in self._manager.instances(self.dimensions):
            found = [pattern for pattern in patterns if fnmatchcase(instance.id, pattern)]
            unmatched.difference_update(found)
            matches[instance.dimension] += bool(found)
        for pattern in patterns:
            if pattern in unmatched:
                raise self._no_match(pattern)
        return matches

    def _no_match(self, pattern: str) -> UsageError:
        if not any(character in pattern for character in "*?["):
            self._manager.instance(pattern)  # raises, and says which part of the id does not exist
        first = self.suite.tasks if len(self.suite.tasks) > 1 else self.dimensions
        hint = did_you_mean(pattern.partition("/")[0], [item.name for item in first])
        part = "the selected part of " if self.selection.preset or self.selection.dimensions else ""
        return UsageError(
            f"no instance of {part}suite {self.suite.name!r} matches {pattern!r}.{hint} "
            f"See `rbench instances {self.suite.name}`."
        )


def _turns(sizes: Mapping[str, int], limit: int) -> dict[str, int]:
    """How much each has given after `limit` items when they take turns, one item a turn, until they are used up."""
    taken = dict.fromkeys(sizes, 0)
    left = min(limit, sum(sizes.values()))
    while left:
        open_ones = [name for name in sizes if taken[name] < sizes[name]]
        rounds = min(left // len(open_ones), *(sizes[name] - taken[name] for name in open_ones))
        for name in open_ones if rounds else open_ones[:left]:
            taken[name] += rounds or 1
            left -= rounds or 1
    return taken


def _spread_order(count: int) -> list[int]:
    """The numbers below `count` so that the first few of them, however many, are spread evenly over all.

    The ranks of the golden-ratio sequence. Not a fixed stride: levels are often a small grid written row
    by row, and a stride would step through its columns in time with the contexts.
    """
    order = sorted(range(count), key=lambda k: k * _GOLDEN % 1.0)
    ranks = [0] * count
    for rank, k in enumerate(order):
        ranks[k] = rank
    return ranks


def _even_walk(axes: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Every combination of one item an axis, once; in any prefix the items of an axis differ by one use at most.

    Two axes of sizes a and b: step i is (i mod a, (i + floor(i / lcm(a, b))) mod b). More axes: the first
    ones, walked like this, are one axis.
    """
    sizes = [len(axis) for axis in axes]
    before = [prod(sizes[:k]) for k in range(len(sizes))]
    common = [lcm(before[k], sizes[k]) for k in range(len(sizes))]
    for i in range(prod(sizes)):
        chosen = []
        for k in range(len(axes) - 1, -1, -1):
            chosen.append(axes[k][(i + i // common[k]) % sizes[k]])
            i %= before[k]
        yield tuple(reversed(chosen))
