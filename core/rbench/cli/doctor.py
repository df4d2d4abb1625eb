"""`rbench doctor`: what works on this machine, and the one line that fixes what does not."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rbench.cli.output import print_json, print_rich, print_text
from rbench.doctor.check import Check
from rbench.doctor.examination import examine
from rbench.plugins.catalog import build_catalog

if TYPE_CHECKING:
    from rich.table import Table

STYLES = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="A JSON list of {check, status, detail, remedy}.")
def command(as_json: bool) -> int:
    """What works on this machine, and the one line that fixes what does not.

    Ends with 1 when something that every run needs is broken, else with 0. Uses no network.
    """
    found: list[Check] = []
    for check in examine(build_catalog(), os.environ, Path.cwd()):
        found.append(check)
        if not as_json:
            print_rich(_lines(check))
    problems = sum(check.status == "problem" for check in found)
    warnings = sum(check.status == "warning" for check in found)
    if as_json:
        print_json([asdict(check) for check in found])
    else:
        print_text(_verdict(problems, warnings))
    return 1 if problems else 0


def _lines(check: Check) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(width=max(map(len, STYLES)))
    table.add_column(overflow="fold")
    text = Text(check.check, style="bold")
    text.append(f": {check.detail}", style="not bold")
    table.add_row(Text(check.status, style=STYLES[check.status]), text)
    if check.remedy is not None:
        table.add_row("", Text(f"fix: {check.remedy}", style="cyan"))
    return table


def _verdict(problems: int, warnings: int) -> str:
    counts = f"{problems} problem(s), {warnings} warning(s)"
    return f"{counts}: " + ("not ready; fix the problems above" if problems else "ready to run")
