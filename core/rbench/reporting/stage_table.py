"""Where episodes are lost: what was true at the stages that the agent reported (`rbench.running.stage_truth`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rbench.record import EpisodeRecord
from rbench.reporting.layout import Column, shown
from rbench.reporting.numbers import count
from rbench.running.stage_truth import label

#: An agent that has reported no stages in so many episodes has none.
_LOOKED_AT = 20
#: The stages of the motion, which nobody has to report: label, what must be true, and the number it is judged by.
_MOTION: tuple[tuple[str, str, str | None], ...] = (
    ("reach", "reached", "reach_mm"),
    ("hold", "held", None),
    ("carry", "carried", None),
    ("release", "over", "release_mm"),
)


class StageTally:
    """Counts by stage; of several claims at one stage of an episode the last counts."""

    def __init__(self) -> None:
        self.looked_at = 0
        self.episodes = self.successes = 0
        self.perception: set[str] = set()
        self.right: dict[str, Counter[bool | None]] = {}
        self.errors: dict[str, list[float]] = {}
        self.lost: Counter[str] = Counter()
        self.reasons: dict[str, Counter[str]] = {}

    def add(self, record: EpisodeRecord) -> None:
        """Count an episode, of those that the denominator has."""
        self.looked_at += 1
        if self.episodes == 0 and self.looked_at > _LOOKED_AT:
            return
        truth = _truth(record)
        if truth is None:
            return
        self.episodes += 1
        self.successes += record.success
        self.perception |= _perception(record)
        for name, stage in {label(stage): stage for stage in truth["stages"]}.items():
            self._passed(name, False if "failed" in stage else stage["right"], stage.get("error_mm"))
            if "failed" in stage:
                self.reasons.setdefault(name, Counter())[stage["failed"]] += 1
        for name, right, error in _motion(truth):
            self._passed(name, right, error)
        if truth["lost_at"] is not None:
            self.lost[truth["lost_at"]] += 1

    def _passed(self, name: str, right: bool | None, error: float | None) -> None:
        self.right.setdefault(name, Counter())[right] += 1
        if error is not None:
            self.errors.setdefault(name, []).append(error)

    def table(self) -> dict[str, Any]:
        """How many episodes got through each stage, under the key `stages`; empty when the agent reports none.

        Returns:
            `episodes` with stages; `successes`; `perception`, what the agents say they saw with; `stages`: for each
            stage in order its `stage`, `episodes` that got there, `right`, `wrong`, `unknown`, `error_mm` (median of
            the point's error) and `error_mm_95` (95 % are better), `lost` episodes, and the most frequent reason `why`.
        """
        return {"stages": self._plain()} if self.episodes else {}

    def _plain(self) -> dict[str, Any]:
        motion = [*(name for name, *_ in _MOTION), "settle"]
        names = [*(name for name in self.right if name not in motion), *motion]
        return {
            "episodes": self.episodes,
            "successes": self.successes,
            "perception": sorted(self.perception),
            "stages": [self._row(name) for name in names],
        }

    def _row(self, name: str) -> dict[str, Any]:
        right, errors = self.right.get(name, Counter()), self.errors.get(name)
        why = self.reasons.get(name, Counter()).most_common(1)
        return {
            "stage": name,
            "episodes": right.total(),
            "right": right[True],
            "wrong": right[False],
            "unknown": right[None],
            "error_mm": None if errors is None else round(float(np.median(errors)), 2),
            "error_mm_95": None if errors is None else round(float(np.quantile(errors, 0.95)), 2),
            "lost": self.lost[name],
            "why": why[0][0] if why else None,
        }


def _motion(truth: Mapping[str, Any]) -> Iterator[tuple[str, bool, float | None]]:
    """The stages of the motion as far as the episode got: who never reached cannot hold."""
    motion = {**truth["motion"], "carried": not truth["motion"]["slipped"]}
    if truth["lost_at"] not in (None, "settle", *(name for name, *_ in _MOTION)):
        return
    for name, condition, number in _MOTION:
        yield name, motion[condition], motion.get(number) if number else None
        if truth["lost_at"] == name:
            return
    yield "settle", truth["lost_at"] is None, None


def _perception(record: EpisodeRecord) -> set[str]:
    """`detector opencv`, ...: parts that the agent chose by itself, under the key `perception` of its report."""
    report = record.agent.get("report")
    parts = report.get("perception") if isinstance(report, Mapping) else None
    return {f"{part} {name}" for part, name in parts.items()} if isinstance(parts, Mapping) else set()


def _truth(record: EpisodeRecord) -> Mapping[str, Any] | None:
    truth: Mapping[str, Any] | None = record.agent.get("truth")
    return truth


def stages_of(summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The table of a summary, None where there is none; a metric of that name is somebody's plugin."""
    found = summary["metrics"].get("stages")
    return found if isinstance(found, Mapping) and {"perception", "stages"} <= found.keys() else None


def heading_of(table: Mapping[str, Any]) -> str:
    """What stands above the table in a terminal."""
    parts = ", ".join(table["perception"])
    return f"where episodes are lost ({parts})" if parts else "where episodes are lost"


#: Columns of the table in a terminal.
COLUMNS = (
    Column("episodes", shown("episodes", count)),
    Column("right", shown("right", count)),
    Column("wrong", shown("wrong", count)),
    Column("error mm", lambda row: "" if row["error_mm"] is None else f"{row['error_mm']:.1f}"),
    Column("95 %", lambda row: "" if row["error_mm_95"] is None else f"{row['error_mm_95']:.1f}", bare=True),
    Column("lost here", shown("lost", count), style=lambda row: "bold red" if row["lost"] else ""),
    Column("why", lambda row: str(row["why"] or ""), "left", bare=True),
)


def rows_of(table: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Named rows for the terminal."""
    return [(row["stage"], row) for row in table["stages"]]
