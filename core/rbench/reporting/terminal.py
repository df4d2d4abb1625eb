"""The report as terminal tables: as wide as they must be, narrower where there is no room, never cut."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from rbench.reporting.histograms import histograms_of, scalars_of
from rbench.reporting.layout import UNBOUNDED, Column, Row, Visible, Wrapped, fitted, shown
from rbench.reporting.notes import notes
from rbench.reporting.numbers import (
    count,
    estimate,
    estimate_interval,
    interval,
    p_value,
    percent,
    percentage,
    score,
)
from rbench.reporting.questions_asked import questions_asked
from rbench.reporting.run_labels import run_labels
from rbench.reporting.stage_table import COLUMNS, heading_of, rows_of, stages_of
from rbench.suites.accepted import validation_line


def report_table(summaries: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One block a run: what was run, how far it is, a row a dimension, the average, the interactions.

    Several runs stand in one table first.

    Args:
        summaries: what `rbench.reporting.summary.summarise` returns.
    """
    parts: list[RenderableType] = []
    labels = run_labels(summaries)
    if len(summaries) > 1:
        parts += [_side_by_side(labels, summaries), Text("* bias", style="dim"), Text("")]
    for number, (label, summary) in enumerate(zip(labels, summaries, strict=True)):
        parts += [Text("")] if number else []
        parts += [*_heading(summary, label if len(summaries) > 1 else ""), Text("")]
        parts += [*_body(summary), *_notes(summary)]
    return Group(*parts)


def as_text(renderable: RenderableType) -> str:
    """A table as plain text, as wide as it needs to be."""
    console = Console(width=UNBOUNDED, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as capture:
        console.print(Visible(renderable))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def print_table(renderable: RenderableType) -> None:
    """Print a table to stdout: fitted to a terminal and in its colours, plain text elsewhere."""
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(Visible(renderable))
    else:
        sys.stdout.write(as_text(renderable))


def report_text(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The tables as plain text, as wide as they need to be."""
    return as_text(report_table(summaries))


def print_report(summaries: Sequence[Mapping[str, Any]]) -> None:
    """Print the tables to stdout."""
    print_table(report_table(summaries))


SUCCESS = (
    Column(
        "success",
        shown("success_rate", percent),
        under=Column("95 %", shown("success_rate_interval", interval), bare=True),
    ),
    Column("k/n", lambda row: f"{row['successes']}/{row['episodes']}" if "episodes" in row else "", bare=True),
    Column("score", shown("score_mean", score)),
    Column("blocks", shown("blocks", count)),
)

BIAS = (
    Column(
        "CV",
        shown("cv", percentage),
        under=Column(
            "contexts",
            lambda row: (
                f"{count(row['contexts_used'])}/{count(row['contexts_total'])}" if "contexts_used" in row else ""
            ),
        ),
    ),
    Column(
        "floor",
        shown("cv_floor", estimate),
        under=Column("95 %", shown("cv_floor_interval", estimate_interval), bare=True),
    ),
    Column(
        "debiased",
        shown("cv_debiased", estimate),
        under=Column("95 %", shown("cv_debiased_interval", estimate_interval), bare=True),
    ),
    Column("p any", shown("p_value", p_value), under=Column("p main", shown("p_main", p_value))),
    Column(
        "verdict",
        lambda row: str(row["verdict"] or "") if "verdict" in row else "",
        justify="left",
        under=Column("p", shown("p_adjusted", p_value), justify="left"),
        bare=True,
        style=lambda row: "bold red" if row.get("verdict") == "bias" else "",
    ),
)


def _end(place: str) -> Column:
    """The worst or best level of a dimension: its name, and beneath it how often it succeeded."""

    def level(row: Row) -> str:
        return str(row[place]["level"]) if row.get(place) else ""

    def rate(row: Row) -> str:
        if not row.get(place):
            return ""
        end = row[place]
        low, high = (percent(bound) for bound in end["interval"])
        mark = ", n = 1" if end["episodes"] == 1 else ""
        return f"{end['successes']}/{end['episodes']} [{low}, {high}]{mark}"

    return Column(f"{place} level", level, "left", under=Column("k/n, 95 %", rate, "left", bare=True))


_ENDS = (_end("worst"), _end("best"))

_DIRECTIONS = (
    Column("CV(A)", shown("cv", percentage)),
    Column("IEC(A;B)", shown("iec", percentage)),
    Column(
        "floor", shown("floor", estimate), under=Column("95 %", shown("floor_interval", estimate_interval), bare=True)
    ),
    Column("", lambda row: str(row["special"]), "left", bare=True),
)


def _heading(summary: Mapping[str, Any], label: str) -> Iterable[Text]:
    counts = summary["counts"]
    if counts["missing"] > 0:
        what = f"INCOMPLETE, {summary['state'].upper()}"
        yield Text(f"{what}: {counts['missing']} of {counts['planned']} episodes are missing", style="bold yellow")
    title = Text(f"{summary['suite']}: {summary['agent']}", style="bold")
    if summary["privileged"]:
        title.append(" (privileged: reads ground truth)", style="yellow")
    if summary["wrappers"]:
        title.append(f", wrapped in {', '.join(summary['wrappers'])}")
    if summary["vision"]:
        title.append(f", vision {summary['vision']}")
    if label not in ("", summary["agent"]):
        title.append(f" = {label}")
    yield title
    yield Text(
        f"render profile {summary['render']}, seed {summary['seed']} ({summary['seeds']} seeds),"
        f" convention {summary['convention']}"
    )
    validated = summary.get("validated")
    yield Text(validation_line(validated), style="" if validated else "yellow")
    if summary.get("shard"):
        yield Text(summary["shard"], style="bold yellow")
    yield Text(f"run {summary['run']}", no_wrap=True, overflow="ignore")
    yield _outcomes(summary)
    if summary.get("vision_usage"):
        yield Text(questions_asked(summary["vision_usage"], replayed=summary["vision"] == "replay"))


def _outcomes(summary: Mapping[str, Any]) -> Text:
    counts = summary["counts"]
    text = Text(f"n = {counts['done']} of {counts['planned']} planned: ")
    for number, outcome in enumerate(summary["counted_outcomes"]):
        text.append(", " if number else "")
        bad = outcome not in ("success", "failure") and counts[outcome]
        text.append(f"{outcome} {counts[outcome]}", style="bold red" if bad else "")
    text.append("; not counted: ")
    errors = counts["infrastructure_error"]
    text.append(f"infrastructure_error {errors}", style="bold red" if errors else "")
    return text


def used_rows(summary: Mapping[str, Any]) -> dict[str, Row]:
    """The dimensions that were planned or have an episode."""
    return {name: row for name, row in summary["dimensions"].items() if row.get("planned") or row["episodes"]}


def _body(summary: Mapping[str, Any]) -> Iterable[RenderableType]:
    if rows := used_rows(summary):
        yield from _dimensions(rows, summary["average"])
    for grid in summary["interactions"]:
        if grid.get("episodes"):
            yield Text("")
            yield from _grid(grid)
    if stages := stages_of(summary):
        yield Text("")
        yield Text(heading_of(stages), style="bold")
        yield fitted("stage", rows_of(stages), COLUMNS)
    counted = list(histograms_of(summary))
    for metric in dict.fromkeys(histogram.metric for histogram in counted):
        yield Text("")
        yield Wrapped(Text(f"{metric}: {scalars_of(summary['metrics'][metric])}"))
        yield from (Wrapped(Text(histogram.line())) for histogram in counted if histogram.metric == metric)


def _dimensions(rows: Mapping[str, Row], average: Row) -> Iterable[RenderableType]:
    last = ("average", average)
    yield fitted("dimension", [*rows.items(), last], SUCCESS, last=1)
    yield Text("")
    yield fitted("dimension", [*rows.items(), last], BIAS, last=1)
    ends = [
        (name, {"worst": row["worst_levels"][0], "best": row["best_levels"][0]})
        for name, row in rows.items()
        if row.get("worst_levels")
    ]
    ends = [(name, end) for name, end in ends if end["worst"]["success_rate"] < end["best"]["success_rate"]]
    if ends:
        yield Text("")
        yield fitted("dimension", ends, _ENDS)


def _grid(grid: Row) -> Iterable[RenderableType]:
    text = Text(str(grid["dimension"]), style="bold")
    success, bounds, fraction = (column.text(grid) for column in (*SUCCESS[0].unfolded(), SUCCESS[1]))
    text.append(f": success {success} {bounds} {fraction}, blocks {count(grid.get('blocks'))}", style="not bold")
    yield text
    yield fitted("A;B", list(_directions(grid)), _DIRECTIONS)
    if grid.get("additivity_p") is not None:
        found = "no interaction found" if grid["additivity_p"] > 0.05 else "A and B interact"
        yield Text(f"additivity on the logit scale: p {p_value(grid['additivity_p'])}, {found}")
    components = [f"{name} {score(sd)}" for name, sd in (grid.get("logit_sd") or {}).items() if sd is not None]
    if components:
        yield Wrapped(Text(f"standard deviations in logits: {', '.join(components)}"))


def _directions(grid: Row) -> Iterable[tuple[str, Row]]:
    for direction, iec in grid["iec"].items():
        special = []
        left_out = grid.get("rows_left_out", {}).get(direction)
        if left_out:
            special.append(f"undefined rows left out: {left_out}")
        if grid.get("degenerate", {}).get(direction):
            special.append("no bias to change (0/0)")
        yield (
            direction,
            {
                "cv": grid["cv"][direction.partition(";")[0]],
                "iec": iec,
                "floor": grid["floor"][direction],
                "floor_interval": (grid.get("floor_interval") or {}).get(direction),
                "special": ", ".join(special),
            },
        )


def _side_by_side(labels: Sequence[str], summaries: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Success and CV of every dimension of several runs, a row a run."""
    names = list(dict.fromkeys(name for summary in summaries for name in used_rows(summary)))

    def success(name: str) -> Column:
        def cv(row: Row) -> str:
            if name not in row:
                return ""
            return percentage(row[name]["cv"]) + ("*" if row[name].get("verdict") == "bias" else "")

        return Column(
            name,
            lambda row: percent(row[name]["success_rate"]) if name in row else "",
            under=Column("CV", cv),
        )

    rows = [
        (label, {**used_rows(summary), "average": summary["average"]})
        for label, summary in zip(labels, summaries, strict=True)
    ]
    return fitted("run", rows, [success(name) for name in (*names, "average")])


def _notes(summary: Mapping[str, Any]) -> Iterable[RenderableType]:
    found = notes(summary)
    if found:
        yield Text("")
    yield from (Wrapped(Text(note, style="dim")) for note in found)
    yield from (Wrapped(Text(problem, style="bold red")) for problem in summary["problems"])
