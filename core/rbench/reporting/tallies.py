"""Counts over the records of a run, for what is shown level by level. Nothing is estimated here: metrics do that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rbench.design import Design, Dimension
from rbench.record import EpisodeRecord

#: Failures remembered for each dimension, outcome and reason; enough to choose a gallery from.
_REMEMBERED = 24


@dataclass
class Count:
    """Successes and episodes."""

    successes: int = 0
    episodes: int = 0

    @property
    def rate(self) -> float | None:
        return self.successes / self.episodes if self.episodes else None

    def __iadd__(self, other: Count) -> Count:
        self.successes += other.successes
        self.episodes += other.episodes
        return self


@dataclass
class DimensionTally:
    """Counts of one dimension.

    Attributes:
        cells: (levels of the dimension's factors, context) -> count. Tasks are added up.
        reasons: (outcome, reason) -> episodes.
    """

    dimension: Dimension
    cells: dict[tuple[tuple[str, ...], str], Count] = field(default_factory=dict)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)

    def levels(self, context: str | None = None) -> dict[tuple[str, ...], Count]:
        """Count of every combination of levels, in the order of the design, over all contexts or in one."""
        found = {levels: Count() for levels in _combinations(tuple(self.dimension.levels.values()))}
        for (levels, where), count in self.cells.items():
            if context in (None, where):
                found.setdefault(levels, Count()).__iadd__(count)
        return found


@dataclass
class EventTally:
    """How often an event happened: in all, and the number of episodes with it by outcome class."""

    total: int = 0
    in_successes: int = 0
    in_others: int = 0


@dataclass
class Tallies:
    """Counts of a run.

    Attributes:
        values: factor -> level -> value, of levels that have an episode.
        episodes: a short line for every episode, in the order they were added.
        failures: (dimension, outcome, reason) -> the first records of that kind.
    """

    dimensions: dict[str, DimensionTally]
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: dict[str, EventTally] = field(default_factory=dict)
    episodes: list[EpisodeLine] = field(default_factory=list)
    failures: dict[tuple[str, str, str], list[EpisodeRecord]] = field(default_factory=dict)

    @classmethod
    def of(cls, design: Design) -> Tallies:
        """Without an episode yet."""
        return cls({dimension.name: DimensionTally(dimension) for dimension in design.dimensions})

    def add(self, record: EpisodeRecord) -> None:
        """Count an episode; of one outside the denominator only its reason."""
        self.episodes.append(
            EpisodeLine(
                record.instance,
                record.repeat,
                record.dimension,
                record.context,
                record.outcome,
                record.reason,
                record.score,
                record.sim_seconds,
            )
        )
        of_dimension = self.dimensions.get(record.dimension)
        if of_dimension is None:
            return
        of_dimension.reasons[record.outcome, record.reason] += 1
        if not record.counted:
            return
        _count(of_dimension, record)
        _note_values(self.values, of_dimension.dimension.factors, record)
        _note_events(self.events, record)
        if not record.success:
            alike = self.failures.setdefault((record.dimension, record.outcome, record.reason), [])
            if len(alike) < _REMEMBERED:
                alike.append(record)


@dataclass(frozen=True, slots=True)
class EpisodeLine:
    """What a list of all episodes shows of one."""

    instance: str
    repeat: int
    dimension: str
    context: str
    outcome: str
    reason: str
    score: float
    sim_seconds: float


def chosen_failures(
    tallies: Tallies, limit: int, preferred: Callable[[EpisodeRecord], bool] = lambda record: False
) -> list[EpisodeRecord]:
    """At most `limit` failed episodes of as many kinds as there are: each (dimension, outcome, reason) in turn.

    Args:
        preferred: of one kind, these come first.
    """
    kinds = [sorted(records, key=lambda record: not preferred(record)) for records in tallies.failures.values()]
    chosen: list[EpisodeRecord] = []
    for place in range(_REMEMBERED):
        for records in kinds:
            if place < len(records) and len(chosen) < limit:
                chosen.append(records[place])
    return chosen


def _count(tally: DimensionTally, record: EpisodeRecord) -> None:
    levels = tuple(record.levels[factor] for factor in tally.dimension.factors)
    count = tally.cells.setdefault((levels, record.context), Count())
    count.episodes += 1
    count.successes += record.success


def _note_values(values: dict[str, dict[str, Any]], factors: Sequence[str], record: EpisodeRecord) -> None:
    for factor in factors:
        known = values.setdefault(factor, {})
        known.setdefault(record.levels[factor], record.values.get(factor))


def _note_events(events: dict[str, EventTally], record: EpisodeRecord) -> None:
    for name, times in Counter(event.name for event in record.events).items():
        event = events.setdefault(name, EventTally())
        event.total += times
        if record.success:
            event.in_successes += 1
        else:
            event.in_others += 1


def _combinations(factors: Sequence[Sequence[str]]) -> Iterable[tuple[str, ...]]:
    if not factors:
        yield ()
        return
    for level in factors[0]:
        for rest in _combinations(factors[1:]):
            yield (level, *rest)


def grouped(levels: Mapping[tuple[str, ...], Count], groups: Mapping[str, str]) -> dict[str, Count]:
    """Counts by group of level, of a dimension with one factor; levels without a group are left out."""
    found: dict[str, Count] = {}
    for (level,), count in levels.items():
        if level in groups:
            found.setdefault(groups[level], Count()).__iadd__(count)
    return found
