"""How often words occur: what metrics give under `histograms`, read with care, and as a line for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rbench.reporting.numbers import percent

#: Words that a line of a terminal names; the rest are counted.
_NAMED = 8


@dataclass(frozen=True)
class Histogram:
    """Counts of words.

    Attributes:
        metric: the metric that it comes from.
        place: its number among the metric's histograms.
        figure: name of its figure, such as `fig5`.
        title: what is counted, for people.
        factor: of whose levels, or groups of levels, `by` tells.
        total: things that were looked at; each has any number of words.
        counts: things by word, in the order in which they are shown.
        by: total and counts for each level or group.
    """

    metric: str
    place: int
    figure: str
    title: str
    factor: str
    total: int
    counts: Mapping[str, int]
    by: Mapping[str, tuple[int, Mapping[str, int]]]

    def line(self) -> str:
        """In one line of text."""
        found = [(word, n) for word, n in self.counts.items() if n]
        if not self.total or not found:
            return f"{self.title}: none (n = {self.total})"
        named = [f"{word} {percent(n / self.total)}" for word, n in found[:_NAMED]]
        more = len(found) - _NAMED
        return f"{self.title} (n = {self.total}): {', '.join(named)}" + (f", and {more} more" if more > 0 else "")


def histograms_of(summary: Mapping[str, Any]) -> Iterator[Histogram]:
    """The histograms of a run's metrics. What is not well formed is left out: a metric is somebody's plugin."""
    for metric, extra in summary["metrics"].items():
        given = extra.get("histograms") if isinstance(extra, Mapping) else None
        for place, entry in enumerate(given if isinstance(given, list) else []):
            if isinstance(entry, Mapping) and (found := _read(metric, place, entry)) is not None:
                yield found


def scalars_of(extra: Mapping[str, Any]) -> str:
    """The single numbers of a metric in a line, with their intervals."""
    parts = []
    for name, value in extra.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            bounds = extra.get(f"{name}_interval")
            interval = f" [{bounds[0]:.4g}, {bounds[1]:.4g}]" if isinstance(bounds, list) and len(bounds) == 2 else ""
            parts.append(f"{name.replace('_', ' ')} {value:.4g}{interval}")
        elif value is None and not name.endswith("_interval"):
            parts.append(f"{name.replace('_', ' ')} N/A")
    return ", ".join(parts)


def _read(metric: str, place: int, entry: Mapping[str, Any]) -> Histogram | None:
    texts = [entry.get(key) for key in ("figure", "title", "factor")]
    counts, by = _counted(entry), entry.get("by")
    if counts is None or not all(isinstance(text, str) and text for text in texts):
        return None
    levels = {level: _counted(own) for level, own in by.items()} if isinstance(by, Mapping) else {}
    known = {level: own for level, own in levels.items() if own is not None}
    return Histogram(metric, place, str(texts[0]), str(texts[1]), str(texts[2]), *counts, known)


def _counted(entry: Any) -> tuple[int, Mapping[str, int]] | None:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("counts"), Mapping):
        return None
    numbers = [entry.get("total"), *entry["counts"].values()]
    if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers):
        return None
    return int(entry["total"]), entry["counts"]
