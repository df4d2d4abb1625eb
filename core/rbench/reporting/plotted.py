"""Every number that a figure, a CSV file or the page shows beyond the JSON report, as named tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rbench.reporting.histograms import histograms_of
from rbench.reporting.run_labels import wrapper_pairs
from rbench.reporting.run_report import RunReport
from rbench.reporting.tallies import Count, grouped
from rbench.results.store import OUTCOMES

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows of scalars; rates 0..1, coefficients in percent, `low` and `high` bound a 95 % interval.

    Attributes:
        about: one line for people.
    """

    name: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def where(self, **conditions: Any) -> list[tuple[int, Row]]:
        """Rows with these values, each with its number in the table."""
        wanted = [(self.columns.index(name), value) for name, value in conditions.items()]
        return [
            (number, dict(zip(self.columns, row, strict=True)))
            for number, row in enumerate(self.rows)
            if all(row[column] == value for column, value in wanted)
        ]


@lru_cache(maxsize=4096)
def wilson(successes: int, episodes: int) -> tuple[float, float] | None:
    """Wilson's 95 % interval of the rate of one level or cell, whose episodes are one a block and so independent."""
    if not episodes:
        return None
    from scipy.stats import binomtest  # takes a second to import

    found = binomtest(successes, episodes).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def tables(reports: Sequence[RunReport]) -> dict[str, Table]:
    """All tables of a report, by name; empty ones too."""
    return {name: Table(name, about, columns, tuple(rows(reports))) for name, about, columns, rows in _TABLES}


_RATE = ("successes", "episodes", "success_rate", "low", "high")
_BOUNDED = ("success_rate", "cv_floor", "cv_debiased")


def _rate(count: Count, interval: Sequence[float] | None = None) -> tuple[Any, ...]:
    low, high = interval or wilson(count.successes, count.episodes) or (None, None)
    return count.successes, count.episodes, count.rate, low, high


def _dimensions(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        for name, row in report.summary["dimensions"].items():
            scalars = [row.get(key) for key in _DIMENSION_KEYS]
            bounds = [bound for key in _BOUNDED for bound in (row.get(f"{key}_interval") or (None, None))]
            yield (report.label, name, *scalars, *bounds)


def _interactions(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        for grid in report.summary["interactions"]:
            for direction, iec in grid["iec"].items():
                factor, _, other = direction.partition(";")
                floor = _of_direction(grid.get("floor"), direction)
                low, high = _of_direction(grid.get("floor_interval"), direction) or (None, None)
                yield report.label, factor, other, grid["cv"].get(factor), iec, floor, low, high, grid["additivity_p"]


def _of_direction(table: Any, direction: str) -> Any:
    return table.get(direction) if isinstance(table, Mapping) else None


def _levels(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        for dimension in report.dimensions:
            (factor,) = dimension.factors
            kinds, groups = report.levels(factor, dimension), report.manifest.design.groups.get(factor, {})
            known = report.summary["dimensions"][dimension.name].get("level_intervals") or {}
            for (level,), count in report.tallies.dimensions[dimension.name].levels().items():
                value = kinds.values.get(level)
                plain = value if value is None or isinstance(value, (str, int, float)) else json.dumps(value)
                together = known.get(level) or (None, None)
                yield report.label, dimension.name, level, groups.get(level), plain, *_rate(count), *together


def _words(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        for found in histograms_of(report.summary):
            what = (report.label, found.metric, found.figure, found.factor)
            yield from ((*what, None, word, number, found.total) for word, number in found.counts.items())
            for level, (total, counts) in found.by.items():
                yield from ((*what, level, word, number, total) for word, number in counts.items())


def _groups(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        for dimension in report.dimensions:
            tally = report.tallies.dimensions[dimension.name].levels()
            known = report.summary["dimensions"][dimension.name].get("groups") or {}
            for group, count in grouped(tally, report.manifest.design.groups.get(dimension.factors[0], {})).items():
                low, high = (known.get(group) or {}).get("success_rate_interval") or (None, None)
                yield report.label, dimension.name, group, count.successes, count.episodes, count.rate, low, high


def _contexts(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        for dimension in report.dimensions:
            for context in dimension.contexts:
                for (level,), count in report.tallies.dimensions[dimension.name].levels(context).items():
                    if count.episodes:
                        yield report.label, dimension.name, context, level, *_rate(count)


def _grid(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        for dimension in report.grids:
            for levels, count in report.tallies.dimensions[dimension.name].levels().items():
                yield report.label, dimension.name, *levels, *_rate(count)


def _outcomes(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        for name, tally in report.tallies.dimensions.items():
            counts: Counter[str] = Counter()
            for (outcome, _), episodes in tally.reasons.items():
                counts[outcome] += episodes
            for outcome in OUTCOMES:
                if counts[outcome]:
                    yield report.label, name, outcome, counts[outcome]


def _reasons(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        by_dimension = {name: tally.reasons for name, tally in report.tallies.dimensions.items()}
        for name, reasons in ((None, sum(by_dimension.values(), Counter())), *by_dimension.items()):
            for (outcome, reason), episodes in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
                yield report.label, name, outcome, reason, episodes


def _events(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for report in reports:
        done, successes = report.summary["counts"]["done"], report.summary["counts"]["success"]
        for name, event in sorted(report.tallies.events.items(), key=lambda item: (-item[1].total, item[0])):
            yield report.label, name, event.total, event.in_successes, successes, event.in_others, done - successes


def _wrappers(reports: Sequence[RunReport]) -> Iterator[tuple[Any, ...]]:
    for before, after in wrapper_pairs([report.summary for report in reports]):
        old, new = reports[before].summary["dimensions"], reports[after].summary["dimensions"]
        for name in old:
            if name in new and old[name]["episodes"] and new[name]["episodes"]:
                yield reports[before].label, reports[after].label, name, *_change(old[name], new[name])


def _change(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Any, ...]:
    before, after = old["cv"], new["cv"]
    reduction = None if before is None or after is None or before == 0 else 100 * (before - after) / before
    keys = ("success_rate", "cv", "cv_floor", "cv_debiased")
    return *(row.get(key) for key in keys for row in (old, new)), reduction


_DIMENSION_KEYS = (
    "successes",
    "episodes",
    "planned",
    "success_rate",
    "score_mean",
    "cv",
    "cv_floor",
    "p_value",
    "p_main",
    "p_adjusted",
    "cv_debiased",
    "icc",
    "contexts_used",
    "contexts_total",
    "blocks",
    "dispersion",
    "verdict",
)

_TABLES: tuple[tuple[str, str, tuple[str, ...], Callable[[Sequence[RunReport]], Iterator[tuple[Any, ...]]]], ...] = (
    (
        "dimensions",
        "Success, bias and its evidence (Table 1)",
        ("run", "dimension", *_DIMENSION_KEYS, *(f"{key}_{end}" for key in _BOUNDED for end in ("low", "high"))),
        _dimensions,
    ),
    (
        "interactions",
        "Interaction of two factors (Table 2): how much the CV of `factor` varies over the levels of `other`",
        ("run", "factor", "other", "cv", "iec", "floor", "floor_low", "floor_high", "additivity_p"),
        _interactions,
    ),
    ("groups", "Success by group of levels (Figure 2)", ("run", "dimension", "group", *_RATE), _groups),
    (
        "levels",
        "Success by level, all contexts; `interval` holds for all levels at once",
        ("run", "dimension", "level", "group", "value", *_RATE, "interval_low", "interval_high"),
        _levels,
    ),
    (
        "contexts",
        "Success by level and context (Figure 3)",
        ("run", "dimension", "context", "level", *_RATE),
        _contexts,
    ),
    ("grid", "Success by pair of levels (Figure 4)", ("run", "dimension", "level", "other_level", *_RATE), _grid),
    (
        "wrappers",
        "Before and after a wrapper (Figure 7)",
        (
            "before",
            "after",
            "dimension",
            *(
                f"{key}_{when}"
                for key in ("success_rate", "cv", "cv_floor", "cv_debiased")
                for when in ("before", "after")
            ),
            "cv_reduction",
        ),
        _wrappers,
    ),
    (
        "words",
        "Words that metrics counted (Figures 5, 6, 13); without a level: all of them",
        ("run", "metric", "figure", "factor", "level", "word", "count", "total"),
        _words,
    ),
    ("outcomes", "Outcomes by dimension", ("run", "dimension", "outcome", "episodes"), _outcomes),
    (
        "reasons",
        "Why episodes ended; without a dimension: in all of them",
        ("run", "dimension", "outcome", "reason", "episodes"),
        _reasons,
    ),
    (
        "events",
        "What happened: times in all, and the number of episodes with it",
        ("run", "event", "times", "in_successes", "successes", "in_others", "others"),
        _events,
    ),
)
