"""What a reader of the tables must know: what the numbers mean, and what is odd about these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rbench.reporting.numbers import NOT_KNOWN, p_value, percent

Row = Mapping[str, Any]


def notes(summary: Mapping[str, Any]) -> list[str]:
    """Notes below the tables of one run, a paragraph each."""
    rows = {name: row for name, row in summary["dimensions"].items() if row["episodes"]}
    grids = [grid for grid in summary["interactions"] if grid.get("episodes")]
    return [
        *_meanings(rows, grids),
        *_oddities(rows),
        *_retests(rows),
    ]


def _meanings(rows: Mapping[str, Row], grids: Sequence[Row]) -> Iterable[str]:
    if rows:
        yield (
            "Rates and coefficients in percent, intervals at 95 %. They take blocks (context, repeat) as the"
            " independent units; those of single levels hold for all levels at once."
        )
        yield (
            "CV: the bias coefficient of RoboView-Bias. Floor: what it is without any bias, from chance alone."
            " Debiased: the CV of the true success rates. p any: levels differ in some context; p main: in the mean"
            " over contexts; p: the smaller of the two, adjusted for all tests of all dimensions (Holm)."
            " Bias: p at most 0.05. Not resolved: no bias was shown, and none was ruled out; the interval of the"
            " debiased CV says how much there may be."
        )
    if grids:
        yield (
            "IEC(A;B): how much the CV of A varies over the levels of B. Floor: what it is when A and B do not"
            " interact; additivity tests whether they do."
        )


def _oddities(rows: Mapping[str, Row]) -> Iterable[str]:
    if any(row["cv"] is None for row in rows.values()):
        yield f"{NOT_KNOWN}: not defined; a CV needs a context with a success and two levels, the rest two repeats too."
    few = [
        name for name, row in rows.items() if row["contexts_used"] and 2 * row["contexts_used"] < row["contexts_total"]
    ]
    if few:
        yield f"The CV rests on fewer than half of the contexts, the others have no success: {', '.join(few)}."
    unseen = [name for name, row in rows.items() if row["verdict"] == "not seen"]
    if unseen:
        yield f"Not seen by any camera of this agent: {', '.join(unseen)}."
    copies = [name for name, row in rows.items() if row.get("repeats_are_copies")]
    if copies:
        yield (
            "Repeats are copies (the same scene without jitter, the same outcome) and count once, so noise and bias"
            f" cannot be told apart inside a context: {', '.join(copies)}."
        )
    equal = [name for name, row in rows.items() if row["dispersion"] == 0 and name not in copies]
    if equal:
        yield f"Repeats never differ within a cell (deterministic, or every cell all or none): {', '.join(equal)}."


def _retests(rows: Mapping[str, Row]) -> Iterable[str]:
    contexts: dict[str, list[str]] = {}
    for name, row in rows.items():
        for found in row.get("equal_contexts") or []:
            rates = ", ".join(percent(rate) for rate in found["success_rates"])
            where = ", ".join(found["contexts"])
            contexts.setdefault(where, []).append(f"{name} {rates} (p {p_value(found['p_value'])})")
    for where, found_there in contexts.items():
        yield f"Test-retest, success in contexts of equal setting ({where}): {'; '.join(found_there)}."
    levels = [
        f"{name} {' and '.join(pair['levels'])} in {pair['differ']} of {pair['pairs']} (p {p_value(pair['p_value'])})"
        for name, row in rows.items()
        for pair in row.get("equal_levels") or []
    ]
    if levels:
        yield f"Test-retest, episodes in which levels of equal value differ: {'; '.join(levels)}."
