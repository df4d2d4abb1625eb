"""From episode records to count tables, one a dimension: context x level(s) x repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.design import Design, Dimension
from rbench.errors import UsageError
from rbench.record import EpisodeRecord

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Counted outcomes of one dimension.

    Every episode has its own slot, so sums over the table do not depend on the order of records.

    Attributes:
        contexts: names of the rows; `TASK/CONTEXT` when the dimension was run with several tasks.
        episodes: (contexts, levels of each factor, repeats) 1 where an episode was counted.
        successes: same shape; 1 where it succeeded.
        scores: same shape; graded score 0..1, 0 where there is no episode.
    """

    dimension: Dimension
    contexts: tuple[str, ...]
    episodes: Counts
    successes: Counts
    scores: npt.NDArray[np.float64]

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

    def by_block(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sums over all levels: one number a block, that is a (context, repeat)."""
        levels = tuple(range(1, values.ndim - 1))
        summed: npt.NDArray[Any] = values.sum(axis=levels).ravel()
        return summed


def tabulate(episodes: Iterable[EpisodeRecord], design: Design) -> dict[str, OutcomeTable]:
    """Count the records that belong to the denominator; a table for every dimension of the design.

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
        self._context = {name: i for i, name in enumerate(dimension.contexts)}
        self._levels: list[tuple[str, Mapping[str, int]]] = [
            (factor, {name: i for i, name in enumerate(names)}) for factor, names in dimension.levels.items()
        ]
        self._tasks: dict[str, int] = {}
        self._rows: list[tuple[int, ...]] = []
        self._successes: list[bool] = []
        self._scores: list[float] = []

    def add(self, record: EpisodeRecord) -> None:
        context = self._context[record.context]
        levels = (index[record.levels[factor]] for factor, index in self._levels)
        task = self._tasks.setdefault(record.task, len(self._tasks))
        self._rows.append((task, context, *levels, record.repeat))
        self._successes.append(record.outcome == "success")
        self._scores.append(record.score)

    def table(self) -> OutcomeTable:
        tasks, contexts = sorted(self._tasks), self.dimension.contexts
        sizes = [len(names) for names in self.dimension.levels.values()]
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, len(sizes) + 3)
        repeats = max(self.dimension.repeats, int(rows[:, -1].max(initial=-1)) + 1)
        # Tasks were numbered as they came; number them by name.
        rank = np.array([tasks.index(name) for name in self._tasks], dtype=np.int64)
        row_context = (rank[rows[:, 0]] if len(rows) else rows[:, 0]) * len(contexts) + rows[:, 1]
        slot = (row_context, *rows[:, 2:].T)
        shape = (max(len(tasks), 1) * len(contexts), *sizes, repeats)
        episodes, successes, scores = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape)
        np.add.at(episodes, slot, 1)
        np.add.at(successes, slot, np.array(self._successes, dtype=np.int64))
        np.add.at(scores, slot, np.array(self._scores, dtype=np.float64))
        labels = contexts if len(tasks) < 2 else tuple(f"{task}/{context}" for task in tasks for context in contexts)
        return OutcomeTable(self.dimension, labels, episodes, successes, scores)
