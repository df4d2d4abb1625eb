"""The comparison of two runs as terminal tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from rbench.reporting.layout import Column, Row, Wrapped, fitted, shown
from rbench.reporting.numbers import count, estimate, estimate_interval, interval, p_value, percent
from rbench.reporting.run_labels import run_labels
from rbench.suites.accepted import validation_line


def comparison_table(comparison: Mapping[str, Any]) -> RenderableType:
    """Which runs, how many episodes they share, a row a dimension, and all single dimensions together.

    Args:
        comparison: what `rbench.reporting.comparison.compare_runs` returns.
    """
    rows = list(comparison["dimensions"].items())
    total = [("all dimensions", comparison["overall"])] if comparison["overall"] else []
    with_cv = [(name, row) for name, row in rows if row.get("cv_debiased")]
    parts: list[RenderableType] = [
        *_heading(comparison),
        Text(""),
        fitted("dimension", [*rows, *total], _SUCCESS, last=len(total)),
    ]
    if with_cv:
        parts += [Text(""), fitted("dimension", with_cv, _BIAS)]
    parts += [Text(""), fitted("dimension", [(name, row) for name, row in rows if "discordant" in row], _EPISODES)]
    parts += [Text(""), *(Wrapped(Text(note, style="dim")) for note in _notes(comparison))]
    parts += [Wrapped(Text(f"warning: {warning}", style="bold yellow")) for warning in comparison["warnings"]]
    parts += [Wrapped(Text(problem, style="bold red")) for problem in comparison["problems"]]
    return Group(*parts)


def _of(key: str, run: int, spell: Callable[[float | None], str]) -> Callable[[Row], str]:
    """What a column shows of one of the two runs."""
    return lambda row: spell(row[key][run]) if row.get(key) else ""


def _signed(spell: Callable[[float | None], str]) -> Callable[[float | None], str]:
    """The number with its sign; none before zero, however it came about."""

    def spelled(value: float | None) -> str:
        text = spell(value)
        if value is None or not text.strip("-0."):
            return text.lstrip("-")
        return f"+{text}" if value > 0 else text

    return spelled


_SUCCESS = (
    Column("first", _of("success_rates", 0, percent), under=Column("second", _of("success_rates", 1, percent))),
    Column(
        "difference",
        shown("difference", _signed(percent)),
        under=Column("95 %", shown("difference_interval", interval), bare=True),
    ),
    Column("p", shown("p_value", p_value), under=Column("adjusted", shown("p_adjusted", p_value))),
    Column(
        "verdict",
        lambda row: str(row.get("verdict") or ""),
        "left",
        bare=True,
        style=lambda row: "bold" if str(row.get("verdict")).endswith("is better") else "",
    ),
)

_EPISODES = (
    Column("episodes", shown("episodes", count)),
    Column("blocks", shown("blocks", count)),
    Column("only first", lambda row: str(row["discordant"][0])),
    Column("only second", lambda row: str(row["discordant"][1])),
    Column("McNemar's p", shown("mcnemar_p", p_value)),
)

_BIAS = (
    Column("CV first", _of("cv", 0, estimate), under=Column("debiased", _of("cv_debiased", 0, estimate))),
    Column("CV second", _of("cv", 1, estimate), under=Column("debiased", _of("cv_debiased", 1, estimate))),
    Column(
        "difference",
        shown("cv_difference", _signed(estimate)),
        under=Column("95 %", shown("cv_difference_interval", estimate_interval), bare=True),
    ),
    Column("verdict", lambda row: str(row.get("cv_verdict") or ""), "left", bare=True),
)


def _heading(comparison: Mapping[str, Any]) -> Iterable[Text]:
    yield Text(f"{comparison['suite']}: two runs over the same episodes", style="bold")
    labels = run_labels([{**comparison, **run} for run in comparison["runs"]])
    for place, label, run in zip(("first", "second"), labels, comparison["runs"], strict=True):
        line = Text(f"{place}: {label}")
        if run["privileged"]:
            line.append(" (privileged: reads ground truth)", style="yellow")
        yield line
        yield Text(f"run {run['run']}", no_wrap=True, overflow="ignore")
    yield Text(
        f"render profile {comparison['render']}, seed {comparison['seed']} ({comparison['seeds']} seeds),"
        f" margin {percent(comparison['margin'])}"
    )
    yield Text(validation_line(comparison.get("validated")))
    episodes = comparison["episodes"]
    left_out = [
        f"{episodes[place] - episodes['common']} of {place}" for place in ("first", "second")
        if episodes[place] > episodes["common"]
    ]  # fmt: skip
    line = Text(f"n = {episodes['common']} episodes in common")
    if left_out:
        line.append(f"; left out: {', '.join(left_out)}", style="bold yellow")
    yield line


def _notes(comparison: Mapping[str, Any]) -> Sequence[str]:
    unit = "episodes" if comparison["seeds"] == "independent" else "blocks (context, repeat)"
    return (
        "Rates and coefficients in percent, intervals at 95 %, differences second minus first.",
        f"p: the signs of the differences of whole {unit} are flipped; adjusted over the dimensions (Holm). All"
        " dimensions: the mean over single dimensions, each of equal weight.",
        "Equivalent: the difference is within the margin (two one-sided tests at 5 %). Cannot tell: neither a"
        " difference nor equivalence was shown.",
        "Only first, only second: episodes in which only that run succeeded. McNemar's p takes episodes as independent"
        " and finds differences that are not there when blocks share their jitter.",
        "The difference of CVs is that of the debiased ones.",
    )
