"""Metrics with one thing wrong each. `EXPECTED` says which checks must catch which."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from rbench.interfaces.metric import ComparisonResult, Metric, MetricResult

#: Metric -> the checks that must fail, and no other.
EXPECTED: dict[str, set[str]] = {}


def caught_by(*checks: str) -> Callable[[type], type]:
    def remember(cls: type) -> type:
        EXPECTED[cls.__name__] = set(checks)
        return cls

    return remember


@caught_by()
class Blameless(Metric):
    """Success rate of every dimension, and the mean duration of its successes in steps."""

    def __init__(self, options: Any) -> None:
        self.options = options

    def compute(self, episodes: Iterable[Any], design: Any, convention: str) -> Any:
        counts = {dimension.name: [0, 0, 0] for dimension in design.dimensions}
        for record in episodes:
            if self.counts(record):
                mine = counts[record.dimension]
                mine[0] += 1
                mine[1] += record.outcome == "success"
                mine[2] += record.steps if record.outcome == "success" else 0
        rows = {name: self.row(*found) for name, found in counts.items()}
        single = [dimension.name for dimension in design.dimensions if not dimension.is_grid]
        grids = [dimension for dimension in design.dimensions if dimension.is_grid]
        return MetricResult(
            dimensions={name: rows[name] for name in single},
            interactions=[{"factors": list(grid.factors), **rows[grid.name]} for grid in grids],
            average={"steps": self.ratio(sum(c[2] for c in counts.values()), sum(c[1] for c in counts.values()))},
            extra=self.more(design),
        )

    def counts(self, record: Any) -> bool:
        return bool(record.counted)

    def row(self, episodes: int, successes: int, steps: int) -> dict[str, Any]:
        return {
            "episodes": episodes,
            "successes": successes,
            "success_rate": self.ratio(successes, episodes),
            "steps": self.ratio(steps, successes),
        }

    def ratio(self, part: float, whole: float) -> Any:
        return part / whole if whole else None

    def more(self, design: Any) -> dict[str, Any]:
        return {"suite": design.suite}


class _Rows(Blameless):
    """Changes the rows of the blameless one."""

    def compute(self, episodes: Iterable[Any], design: Any, convention: str) -> Any:
        episodes = list(episodes)
        result = super().compute(episodes, design, convention)
        for name, row in result.dimensions.items():
            self.change(row, name, [record for record in episodes if record.dimension == name], convention)
        return result

    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        raise NotImplementedError


@caught_by("construct")
class NoMetric:
    def __init__(self, options: Any) -> None:
        pass


@caught_by("computes")
class Raises(Blameless):
    def more(self, design: Any) -> dict[str, Any]:
        return {"first": design.dimension}


@caught_by("computes")
class ReturnsATable(Blameless):
    def compute(self, episodes: Iterable[Any], design: Any, convention: str) -> Any:
        return super().compute(episodes, design, convention).dimensions


@caught_by("computes")
class Sets(Blameless):
    def more(self, design: Any) -> dict[str, Any]:
        return {"names": {dimension.name for dimension in design.dimensions}}


@caught_by("computes")
class SaysNothing(Blameless):
    def compute(self, episodes: Iterable[Any], design: Any, convention: str) -> Any:
        return MetricResult()


@caught_by("computes")
class GridsAmongDimensions(Blameless):
    def compute(self, episodes: Iterable[Any], design: Any, convention: str) -> Any:
        result = super().compute(episodes, design, convention)
        grids = {"+".join(table["factors"]): table for table in result.interactions}
        return MetricResult(dimensions={**result.dimensions, **grids})


@caught_by("no-nan")
class Infinite(Blameless):
    def more(self, design: Any) -> dict[str, Any]:
        return {"worst": [float("-inf")]}


@caught_by("no-episodes", "one-episode", "missing-dimension", "all-failure", "all-errors", "nothing-counted")
class NanForUndefined(Blameless):
    def ratio(self, part: float, whole: float) -> Any:
        return part / whole if whole else float("nan")


@caught_by("no-episodes", "one-episode", "missing-dimension", "all-failure", "all-errors", "nothing-counted", "compare")
class DividesByZero(Blameless):
    def ratio(self, part: float, whole: float) -> Any:
        return part / whole

    def compare(self, first: Any, second: Any, design: Any, margin: float) -> Any:
        return ComparisonResult(overall={"ratio": len(list(first)) / len(list(second))})


@caught_by("repeatable")
class RemembersRuns(Blameless):
    runs = 0

    def more(self, design: Any) -> dict[str, Any]:
        self.runs += 1
        return {"runs": self.runs}


@caught_by("order")
class SumsAsTheyCome(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        row["sum"] = 0.0
        for record in episodes:
            if record.counted:
                row["sum"] = 0.9 * row["sum"] + record.score


@caught_by("one-pass", "compare")
class WalksTwice(Blameless):
    def compute(self, episodes: Any, design: Any, convention: str) -> Any:
        result = super().compute(episodes, design, convention)
        return replace(result, extra={"longest": max((record.steps for record in episodes), default=None)})

    def compare(self, first: Any, second: Any, design: Any, margin: float) -> Any:
        return ComparisonResult(overall={"episodes": len(first)})


@caught_by("leaves-input")
class WritesIntoRecords(Blameless):
    def counts(self, record: Any) -> bool:
        record.agent["seen"] = True
        return super().counts(record)


@caught_by("own-randomness")
class Shuffles(Blameless):
    def more(self, design: Any) -> dict[str, Any]:
        random.shuffle([1, 2, 3])
        return {}


@caught_by("same-in-another-process")
class OrderOfASet(Blameless):
    def more(self, design: Any) -> dict[str, Any]:
        return {"order": "".join({"a", "b", "c", "d", "e", "f", "g", "h"})}


@caught_by("conventions")
class DefaultOnly(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        if convention != "default":
            raise ValueError(convention)


@caught_by("conventions")
class MoreOnPaper(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        if convention == "paper":
            row["quirk"] = 1


@caught_by("uncounted", "standard-keys")
class CountsEverything(Blameless):
    def counts(self, record: Any) -> bool:
        return True


@caught_by("standard-keys")
class ErrorsAreNoEpisodes(Blameless):
    def counts(self, record: Any) -> bool:
        return record.outcome in ("success", "failure")


@caught_by("standard-keys")
class Percent(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        row["success_rate"] = row["success_rate"] and 100 * row["success_rate"]


@caught_by("standard-keys")
class HalfAnInterval(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        row["steps_interval"] = [None, 3.0]


@caught_by("standard-keys")
class OwnVerdict(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        row["verdict"] = "biased"


@caught_by("stable-keys")
class LeavesOut(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        if row["steps"] is None:
            del row["steps"]


@caught_by("stable-keys")
class OneOnly(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        if name == "color":
            row["colors"] = 4


@caught_by("missing-cells", "missing-dimension", "no-episodes", "one-episode")
class EveryCell(_Rows):
    """Wants every level to be there."""

    def compute(self, episodes: Any, design: Any, convention: str) -> Any:
        self.wanted = {d.name: d.levels[d.factors[0]] for d in design.dimensions}
        return super().compute(episodes, design, convention)

    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        found = {next(iter(record.levels.values())): record.success for record in episodes if record.repeat == 0}
        row["missing"] = sum(level not in found for level in self.wanted[name])
        if row["missing"]:
            raise KeyError("cell")


@caught_by("single-level")
class LevelsAgainstTheFirst(Blameless):
    def more(self, design: Any) -> dict[str, Any]:
        return {d.name: 1 / (d.cells - 1) for d in design.dimensions}


@caught_by("single-block")
class BetweenRepeats(Blameless):
    def more(self, design: Any) -> dict[str, Any]:
        return {d.name: 1 / (d.repeats - 1) for d in design.dimensions}


@caught_by("all-success", "one-episode")
class AmongFailures(Blameless):
    def row(self, episodes: int, successes: int, steps: int) -> dict[str, Any]:
        odds = successes / (episodes - successes) if episodes else None
        return {**super().row(episodes, successes, steps), "odds": odds}


@caught_by("hostile-names")
class SplitsIds(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        for record in episodes:
            _, _, _ = record.instance.split("/")


@caught_by("hostile-names")
class EvaluatesTexts(_Rows):
    def change(self, row: dict[str, Any], name: str, episodes: list[Any], convention: str) -> None:
        row["texts"] = len({json.loads(f'"{record.instruction}"') for record in episodes if record.counted})


@caught_by("independent-seeds")
class SharedOnly(Blameless):
    def more(self, design: Any) -> dict[str, Any]:
        return {"seeds": {"shared": "blocks"}[design.seeds]}


@caught_by("scale")
class KeepsRecords(Blameless):
    def compute(self, episodes: Iterable[Any], design: Any, convention: str) -> Any:
        return super().compute(iter(list(episodes)), design, convention)


@caught_by("scale")
class CannotCountFar(Blameless):
    def row(self, episodes: int, successes: int, steps: int) -> dict[str, Any]:
        if episodes > 20_000:
            raise OverflowError("too many")
        return super().row(episodes, successes, steps)


@caught_by("compare")
class ComparesToATable(Blameless):
    def compare(self, first: Any, second: Any, design: Any, margin: float) -> Any:
        return {"difference": len(list(first)) - len(list(second))}


@caught_by("compare")
class ComparesToNan(Blameless):
    def compare(self, first: Any, second: Any, design: Any, margin: float) -> Any:
        return ComparisonResult(dimensions={"color": {"p_value": float("nan")}})


@caught_by()
class Compares(Blameless):
    """Another blameless one."""

    def compare(self, first: Any, second: Any, design: Any, margin: float) -> Any:
        return ComparisonResult(overall={"difference": sum(r.success for r in first) - sum(r.success for r in second)})
