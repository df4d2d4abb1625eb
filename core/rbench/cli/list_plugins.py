"""`rbench list-plugins`: every contribution, and every plugin that did not load."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from rbench.cli.output import print_json, print_note, print_rich, print_text
from rbench.contributions import KINDS
from rbench.plugins.catalog import build_catalog

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

STYLES = {"ok": "green", "conflict": "yellow", "broken": "red", "incompatible": "red", "blocked": "dim"}

HEADINGS = ("kind", "name", "distribution", "version", "status")

#: Columns of a terminal from which on the summary fits beside the rest.
WIDE = 120


@click.command("list-plugins")
@click.option("--kind", type=click.Choice(KINDS), help="Only contributions of this kind.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list, one object a row.")
def command(kind: str | None, as_json: bool) -> None:
    """Everything that is installed, and what did not load and why."""
    rows = build_catalog().rows()
    failed = [row for row in rows if row["kind"] is None and row["status"] != "ok"]
    if kind is not None:
        rows = [row for row in rows if row["kind"] == kind]
        if failed:
            print_note(f"{len(failed)} plugin(s) did not load and may bring more; `rbench list-plugins` says why")
    if as_json:
        print_json(rows)
    elif rows:
        columns = shutil.get_terminal_size().columns
        narrow = sys.stdout.isatty() and columns < WIDE
        if narrow and columns < _needed(rows):
            print_rich(*_stacked(rows))
        elif narrow:
            print_rich(_table(rows, narrow), "", _summaries(rows))
        else:
            print_rich(_table(rows, narrow))
    else:
        print_text("nothing of that kind is installed" if kind else "no plugin is installed")


def _needed(rows: list[dict[str, Any]]) -> int:
    """Columns that the table without summaries takes: nothing in it is broken into lines."""
    widest = (max(len(heading), *(len(row[heading] or "-") for row in rows)) for heading in HEADINGS)
    return sum(widest) + 2 * len(HEADINGS)


def _stacked(rows: list[dict[str, Any]]) -> list[RenderableType]:
    """One plugin under the other, for terminals that are narrower than any table."""
    from rich.padding import Padding
    from rich.text import Text

    lines: list[RenderableType] = []
    for row in rows:
        style = STYLES[row["status"]]
        head = Text.assemble((row["name"], "bold"), f" {row['kind'] or '-'} ", (row["status"], style), overflow="fold")
        origin = Text(f"{row['distribution']} {row['version']}".rstrip(), overflow="fold")
        lines += [head, Padding(origin, (0, 0, 0, 2)), Padding(_explained(row, style), (0, 0, 0, 2))]
    return lines


def _table(rows: list[dict[str, Any]], narrow: bool) -> Table:
    # Not at the top: --help and --json need no rich.
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        # Names are copied from here: they are never cut or broken.
        table.add_column(heading, no_wrap=True, overflow="fold")
    if not narrow:
        table.add_column("summary", overflow="fold")
    for number, row in enumerate(rows):
        if number and row["kind"] != rows[number - 1]["kind"]:
            table.add_row()
        style = STYLES[row["status"]]
        cells = [
            Text(row["kind"] or "-"),
            Text(row["name"], style="bold"),
            Text(row["distribution"]),
            Text(row["version"]),
            Text(row["status"], style=style),
        ]
        table.add_row(*cells, *([] if narrow else [_explained(row, style)]))
    return table


def _summaries(rows: list[dict[str, Any]]) -> Table:
    """Name and summary alone, for terminals that the whole table does not fit into."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True, overflow="fold")
    table.add_column("summary", overflow="fold")
    for row in rows:
        # Entry points of several distributions may share a name; what did not load goes by its distribution.
        name = row["name"] if row["kind"] else row["distribution"]
        table.add_row(Text(name, style="bold"), _explained(row, STYLES[row["status"]]))
    return table


def _explained(row: dict[str, Any], style: str) -> Text:
    from rich.text import Text

    text = Text(row["summary"] or "", overflow="fold")
    if row["needs"]:
        text.append(f" [needs {', '.join(row['needs'])}: not installed]", style="yellow")
    if row["error"]:
        text.append(f" {row['error']}" if text else row["error"], style=style)
    return text
