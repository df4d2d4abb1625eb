"""From episode records to count tables, one a dimension: context x level(s) x repeat."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.design import Design, Dimension
from rbench.errors import UsageError
from rbench.record import EpisodeRecord
from rbench.scene import Jitter

Counts = npt.NDArray[np.int64]
Rates = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Counted outcomes of one dimension.

    Every episode has its own slot, and contexts and levels stand in the order of their names, so that nothing
    computed from a table depends on the order of records, nor on that of levels and contexts in the suite.

    Attributes:
        places: task and context of each row.
        levels: for each factor of the dimension its level names.
        episodes: (contexts, levels of each factor, repeats) 1 where an episode was counted.
        successes: same shape; 1 where it succeeded.
        scores: same shape; graded score 0..1, 0 where there is no episode.
        jittered: (contexts,) whether the episodes of a context differ in their jitter.
        values: value of each level that has an episode, for a dimension of one factor.
    """

    dimension: Dimension
    places: tuple[tuple[str, str], ...]
    levels: Mapping[str, tuple[str, ...]]
    episodes: Counts
    successes: Counts
    scores: Rates
    jittered: npt.NDArray[np.bool_]
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def contexts(self) -> tuple[str, ...]:
        """Names of the rows; `TASK/CONTEXT` when the dimension was run with several tasks."""
        several = len({task for task, _ in self.places}) > 1
        return tuple(f"{task}/{context}" if several else context for task, context in self.places)

    @property
    def cell_episodes(self) -> Counts:
        """(contexts, levels...) episodes of each cell."""
        counts: Counts = self.episodes.sum(axis=-1)
        return counts

    @property
    def cell_successes(self) -> Counts:
        """(contexts, levels...) successes of each cell."""
        counts: Counts = self.successes.sum(axis=-1)
        return counts

    @property
    def cell_rates(self) -> Rates:
        """(contexts, levels...) success rate of each cell, NaN where it has no episode."""
        return success_rates(self.cell_successes, self.cell_episodes)

    def by_block(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(contexts, repeats) sums over all levels: one number a block."""
        levels = tuple(range(1, values.ndim - 1))
        summed: npt.NDArray[Any] = values.sum(axis=levels)
        return summed

    def blocks(self) -> tuple[Counts, Counts]:
        """Successes and episodes as (contexts, repeats, cells): the outcomes of each block in a row."""
        shape = (len(self.contexts), -1, self.episodes.shape[-1])
        successes, episodes = (x.reshape(shape).swapaxes(1, 2) for x in (self.successes, self.episodes))
        return successes, episodes

    @property
    def repeats_are_copies(self) -> bool:
        """Whether repeats add nothing: no jitter tells them apart, and no cell has two outcomes.

        A deterministic agent then runs the same scene again; so five repeats are one piece of evidence.
        """
        cells, successes = self.cell_episodes, self.cell_successes
        mixed = (successes > 0) & (successes < cells)
        both = bool(successes.any()) and bool((successes < cells).any())
        return bool((cells > 1).any()) and both and not mixed.any() and not self.jittered.any()

    def restricted(self, episodes: Counts) -> OutcomeTable:
        """The table without the episodes that are 0 in a table of the same shape."""
        return replace(
            self,
            episodes=self.episodes * episodes,
            successes=self.successes * episodes,
            scores=self.scores * episodes,
        )

    def first_repeats(self) -> OutcomeTable:
        """The table with one repeat a cell: its first."""
        first = self.episodes * (self.episodes.cumsum(axis=-1) == 1)
        once: dict[str, Any] = {
            name: (values * first).sum(axis=-1, keepdims=True)
            for name, values in (("episodes", first), ("successes", self.successes), ("scores", self.scores))
        }
        return replace(self, **once)


def success_rates(successes: Counts, episodes: Counts) -> Rates:
    """Rate k/n of every cell, of whatever repeats it has; NaN where it has none."""
    rates: Rates = np.full(np.shape(episodes), np.nan)
    np.divide(successes, episodes, out=rates, where=np.asarray(episodes) > 0)
    return rates


def tabulate(episodes: Iterable[EpisodeRecord], design: Design) -> dict[str, OutcomeTable]:
    """Count the records that belong to the denominator; a table for every dimension of the design.

    Memory holds 30 bytes a record.

    Raises:
        UsageError: a record names a dimension, level or context that the design does not have.
    """
    slots = {dimension.name: _Slots(dimension) for dimension in design.dimensions}
    for record in episodes:
        if record.counted:
            try:
                slots[record.dimension].add(record)
            except KeyError as problem:
                raise UsageError(
                    f"episode {record.episode!r}: {problem} is not in the design of suite {design.suite!r};"
                    " give the records together with the manifest of the same run"
                ) from None
    return {name: found.table() for name, found in slots.items()}


class _Slots:
    """Collects the slot of every record of a dimension while they stream by."""

    def __init__(self, dimension: Dimension) -> None:
        self.dimension = dimension
        self._contexts = tuple(sorted(dimension.contexts))
        self._context = {name: i for i, name in enumerate(self._contexts)}
        self._levels = {factor: tuple(sorted(names)) for factor, names in dimension.levels.items()}
        self._index = [(factor, {name: i for i, name in enumerate(names)}) for factor, names in self._levels.items()]
        self._tasks: dict[str, int] = {}
        self._values: dict[str, Any] = {}
        self._jitters: dict[tuple[int, int], Mapping[str, Jitter]] = {}
        self._jittered: set[tuple[int, int]] = set()
        # One number a column and record.
        self._task, self._cell, self._repeat = array("l"), array("q"), array("l")
        self._success, self._score = array("b"), array("d")

    def add(self, record: EpisodeRecord) -> None:
        context = cell = self._context[record.context]
        for factor, index in self._index:
            level = record.levels[factor]
            cell = cell * len(index) + index[level]
        task = self._tasks.setdefault(record.task, len(self._tasks))
        if len(self._index) == 1 and level not in self._values:
            self._values[level] = record.values.get(factor)
        if self._jitters.setdefault((task, context), record.jitter) != record.jitter:
            self._jittered.add((task, context))
        self._task.append(task)
        self._cell.append(cell)
        self._repeat.append(record.repeat)
        self._success.append(record.outcome == "success")
        self._score.append(record.score)

    def table(self) -> OutcomeTable:
        tasks = sorted(self._tasks)
        # Tasks were numbered as they came; number them by name.
        rank = {number: tasks.index(name) for name, number in self._tasks.items()}
        shape = (len(self._contexts), *(len(names) for names in self._levels.values()))
        repeats = max(self.dimension.repeats, max(self._repeat, default=-1) + 1)
        size = max(len(tasks), 1), int(np.prod(shape)), repeats
        task = np.array([rank[number] for number in range(len(tasks))], np.int64)[np.array(self._task, np.int64)]
        slot = np.ravel_multi_index((task, np.array(self._cell, np.int64), np.array(self._repeat, np.int64)), size)
        table = (size[0] * shape[0], *shape[1:], repeats)
        jittered = np.zeros((size[0], shape[0]), np.bool_)
        for number, context in self._jittered:
            jittered[rank[number], context] = True
        return OutcomeTable(
            dimension=self.dimension,
            places=tuple((task, context) for task in tasks or [""] for context in self._contexts),
            levels=self._levels,
            episodes=np.bincount(slot, minlength=np.prod(size)).reshape(table),
            successes=np.bincount(slot[np.array(self._success, np.bool_)], minlength=np.prod(size)).reshape(table),
            scores=np.bincount(slot, np.array(self._score), minlength=np.prod(size)).reshape(table).astype(float),
            jittered=jittered.ravel(),
            values=self._values,
        )
