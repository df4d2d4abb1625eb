"""The report as a terminal table: as wide as it must be, narrower where there is no room, never cut."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from rbench.reporting.numbers import NOT_KNOWN, count, interval, percent, percentage, score

Row = Mapping[str, Any]

#: Notes beyond this many columns are wrapped, also where the output has no width of its own.
_NOTE_WIDTH = 100
_UNBOUNDED = 10_000


def report_table(summaries: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One block a run: what was run, how far it is, a row a dimension, the average, the interactions.

    Args:
        summaries: what `rbench.reporting.summary.summarise` returns.
    """
    parts: list[RenderableType] = []
    for number, summary in enumerate(summaries):
        parts += [Text("")] if number else []
        parts += [*_heading(summary), Text(""), *_body(summary), *_notes(summary)]
    return Group(*parts)


def report_text(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The tables as plain text, as wide as they need to be."""
    console = Console(width=_UNBOUNDED, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as capture:
        console.print(report_table(summaries))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def print_report(summaries: Sequence[Mapping[str, Any]]) -> None:
    """Print the tables to stdout: fitted to a terminal and in its colours, plain text elsewhere."""
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(report_table(summaries))
    else:
        sys.stdout.write(report_text(summaries))


@dataclass(frozen=True)
class Column:
    """A column of the dimension table: heading, what a row shows in it, and a heading for narrow terminals."""

    heading: str
    text: Callable[[Row], str]
    justify: Literal["left", "right"] = "right"
    short: str = ""


_COLUMNS = (
    Column("success", lambda row: percent(row["success_rate"])),
    Column("95 %", lambda row: interval(row["success_rate_interval"]), "left"),
    Column("k/n", lambda row: f"{row['successes']}/{row['episodes']}"),
    Column("score", lambda row: score(row["score_mean"])),
    Column("CV", lambda row: percentage(row["cv"])),
    Column("contexts", lambda row: f"{count(row['contexts_used'])}/{count(row['contexts_total'])}", short="ctx"),
    Column("blocks", lambda row: count(row["blocks"]), short="blk"),
)


@dataclass(frozen=True)
class FirstThatFits:
    """A renderable that takes the first of several layouts that fits the width, or else the last."""

    layouts: Sequence[RenderableType]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unbounded = options.update(width=_UNBOUNDED)
        for layout in self.layouts[:-1]:
            if Measurement.get(console, unbounded, layout).maximum <= options.max_width:
                yield layout
                return
        yield self.layouts[-1]


def _heading(summary: Mapping[str, Any]) -> Iterable[Text]:
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
    yield title
    yield Text(
        f"render profile {summary['render']}, seed {summary['seed']} ({summary['seeds']} seeds),"
        f" convention {summary['convention']}"
    )
    yield Text(f"run {summary['run']}", no_wrap=True, overflow="ignore")
    yield _outcomes(summary)


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


def _body(summary: Mapping[str, Any]) -> Iterable[RenderableType]:
    rows = {name: row for name, row in summary["dimensions"].items() if row.get("planned") or row["episodes"]}
    if rows:
        average = summary["average"]
        yield FirstThatFits(
            [_wide(rows, average), _wide(rows, average, short=True), _two_lines(rows, average), _listed(rows, average)]
        )
    for grid in summary["interactions"]:
        if grid.get("episodes"):
            yield Text("")
            yield _grid_line(grid)
            yield FirstThatFits([_grid_table(grid), _grid_list(grid)])


def _table(*headings: tuple[str, Literal["left", "right"]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for heading, justify in headings:
        table.add_column(heading, justify=justify, no_wrap=True)
    return table


def _wide(rows: Mapping[str, Row], average: Row, short: bool = False) -> Table:
    headings = [((column.short if short else "") or column.heading, column.justify) for column in _COLUMNS]
    table = _table(("dimension", "left"), *headings)
    for name, row in rows.items():
        table.add_row(Text(name), *(Text(column.text(row)) for column in _COLUMNS))
    shown = {"success": percent(average["success_rate"]), "CV": percentage(average["cv"])}
    table.add_row("average", *(shown.get(column.heading, "") for column in _COLUMNS), style="bold")
    return table


def _two_lines(rows: Mapping[str, Row], average: Row) -> Table:
    """The interval below the rate."""
    success, bounds, fraction, *others = _COLUMNS
    headings = [(column.short or column.heading, column.justify) for column in others]
    table = _table(("dimension", "left"), ("success, 95 %", "left"), *headings)
    for name, row in rows.items():
        rate = Text(f"{success.text(row)} {fraction.text(row)}\n{bounds.text(row)}")
        table.add_row(Text(name), rate, *(Text(column.text(row)) for column in others))
    shown = {"CV": percentage(average["cv"])}
    cells = (shown.get(column.heading, "") for column in others)
    table.add_row("average", percent(average["success_rate"]), *cells, style="bold")
    return table


def _listed(rows: Mapping[str, Row], average: Row) -> RenderableType:
    """No table: one fact a line."""
    lines: list[Text] = []
    for name, row in rows.items():
        lines.append(Text(name, style="bold"))
        lines += [Text(f"  {column.heading} {column.text(row)}") for column in _COLUMNS]
    lines.append(Text("average", style="bold"))
    lines.append(Text(f"  success {percent(average['success_rate'])}"))
    lines.append(Text(f"  CV {percentage(average['cv'])}"))
    return Group(*lines)


def _grid_line(grid: Row) -> Text:
    text = Text(str(grid["dimension"]), style="bold")
    facts = " ".join(column.text(grid) for column in _COLUMNS[:3])
    text.append(f": success {facts}, blocks {count(grid.get('blocks'))}", style="not bold")
    return text


def _grid_facts(grid: Row) -> Iterable[tuple[str, str, str, str]]:
    """For each direction `A;B`: its IEC, the CV of A, and what is special about it."""
    for direction, iec in grid["iec"].items():
        special = []
        left_out = grid.get("rows_left_out", {}).get(direction)
        if left_out:
            special.append(f"undefined rows left out: {left_out}")
        if grid.get("degenerate", {}).get(direction):
            special.append("no bias to change (0/0)")
        yield direction, percentage(grid["cv"][direction.partition(";")[0]]), percentage(iec), ", ".join(special)


def _grid_table(grid: Row) -> Table:
    table = _table(("A;B", "left"), ("CV(A)", "right"), ("IEC(A;B)", "right"), ("", "left"))
    for facts in _grid_facts(grid):
        table.add_row(*(Text(fact) for fact in facts))
    return table


def _grid_list(grid: Row) -> RenderableType:
    lines: list[Text] = []
    for direction, cv, iec, special in _grid_facts(grid):
        lines += [Text(direction), Text(f"  CV(A) {cv}"), Text(f"  IEC(A;B) {iec}")]
        lines += [Text(f"  {special}")] if special else []
    return Group(*lines)


def _notes(summary: Mapping[str, Any]) -> Iterable[RenderableType]:
    rows = {name: row for name, row in summary["dimensions"].items() if row["episodes"]}
    notes = []
    if rows:
        notes.append(
            "Success, its 95 % interval and CV in percent; the interval takes blocks (context, repeat) as the"
            " independent units. CV is above zero for an unbiased agent too, the more so the fewer the repeats."
        )
    if any(grid.get("episodes") for grid in summary["interactions"]):
        notes.append(
            "IEC(A;B): how much the CV of A varies over the levels of B. It is above zero without interaction too."
        )
    if any(row["cv"] is None for row in rows.values()):
        notes.append(f"{NOT_KNOWN}: not defined; a CV needs a context with a success and two levels.")
    unseen = [name for name, row in rows.items() if row["verdict"] == "not seen"]
    if unseen:
        notes.append(f"Not seen by any camera of this agent: {', '.join(unseen)}.")
    equal = [name for name, row in rows.items() if row["dispersion"] == 0]
    if equal:
        notes.append(
            f"Repeats never differ within a cell (deterministic, or every cell all or none): {', '.join(equal)}."
        )
    if notes:
        yield Text("")
    yield from (Wrapped(Text(note, style="dim")) for note in notes)
    yield from (Wrapped(Text(problem, style="bold red")) for problem in summary["problems"])


@dataclass(frozen=True)
class Wrapped:
    """Running text, wrapped at a readable width."""

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.text, options.update(width=min(options.max_width, _NOTE_WIDTH)))
