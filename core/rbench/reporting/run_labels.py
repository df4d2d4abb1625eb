"""Short names that tell several runs apart, and pairs of runs that differ by a wrapper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Summary = Mapping[str, Any]


def run_labels(summaries: Sequence[Summary]) -> list[str]:
    """A name for each run: its agent with its wrappers, and of what else differs as much as tells them apart."""
    labels = [_agent(summary) for summary in summaries]
    distinctions: tuple[Callable[[Summary], str], ...] = (
        lambda summary: str(summary["vision"] or "no vision model"),
        lambda summary: str(summary["render"]),
        lambda summary: f"seed {summary['seed']}",
        lambda summary: str(summary["run"]).replace("\\", "/").rstrip("/").rpartition("/")[2],
    )
    for distinction in distinctions:
        alike = {label for label in labels if labels.count(label) > 1}
        if not alike:
            return labels
        words = [distinction(summary) for summary in summaries]
        if len({word for word, label in zip(words, labels, strict=True) if label in alike}) > 1:
            labels = [f"{old}, {word}" if old in alike else old for old, word in zip(labels, words, strict=True)]
    counts: dict[str, int] = {}
    return [
        label if labels.count(label) == 1 else f"{label} ({_next(counts, label)})" for label in labels
    ]  # the same run, twice


def wrapper_pairs(summaries: Sequence[Summary]) -> list[tuple[int, int]]:
    """Pairs (before, after) of runs of one agent on the same suite, where the second has wrappers around the first's.

    Of several runs that could be before, the one with most wrappers is taken.
    """
    pairs = []
    for after, wrapped in enumerate(summaries):
        candidates = [
            (len(plain["wrappers"]), -before)
            for before, plain in enumerate(summaries)
            if all(plain[key] == wrapped[key] for key in ("agent", "suite_hash", "render", "seed"))
            and len(plain["wrappers"]) < len(wrapped["wrappers"])
            and list(wrapped["wrappers"][len(wrapped["wrappers"]) - len(plain["wrappers"]) :])
            == list(plain["wrappers"])
        ]
        if candidates:
            pairs.append((-max(candidates)[1], after))
    return pairs


def _agent(summary: Summary) -> str:
    inner = str(summary["agent"])
    for wrapper in reversed(summary["wrappers"]):
        inner = f"{wrapper}({inner})"
    return inner


def _next(counts: dict[str, int], label: str) -> int:
    counts[label] = counts.get(label, 0) + 1
    return counts[label]
