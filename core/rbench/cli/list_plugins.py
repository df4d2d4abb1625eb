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
    from rich.table import Table
    from rich.text import Text

STYLES = {"ok": "green", "conflict": "yellow", "broken": "red", "incompatible": "red", "blocked": "dim"}

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
        narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < WIDE
        if narrow:
            print_rich(_table(rows, narrow), "", _summaries(rows))
        else:
            print_rich(_table(rows, narrow))
    else:
        print_text("nothing of that kind is installed" if kind else "no plugin is installed")


def _table(rows: list[dict[str, Any]], narrow: bool) -> Table:
    # Not at the top: --help and --json need no rich.
    from rich.table import Table
    from rich.text import Text

    headings = ["kind", "name", "distribution", "version", "status"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
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

    text = Text(row["summary"] or "")
    if row["needs"]:
        text.append(f" [needs {', '.join(row['needs'])}: not installed]", style="yellow")
    if row["error"]:
        text.append(f" {row['error']}" if text else row["error"], style=style)
    return text
