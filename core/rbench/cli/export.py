"""`rbench export`: the records of a run, for other programs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rbench.cli.output import print_note
from rbench.results.export import export_jsonl
from rbench.results.run_directory import open_run

FORMATS = {"jsonl": export_jsonl}


@click.command("export")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="jsonl", show_default=True)
@click.option("-o", "output", required=True, metavar="PATH", help="A file; - is standard output.")
def command(directory: Path, form: str, output: str) -> None:
    """Write the records of the run in DIR, one JSON object a line; also while it runs."""
    count = FORMATS[form](open_run(directory), sys.stdout if output == "-" else Path(output))
    print_note(f"{count} episodes written" + ("" if output == "-" else f" to {output}"))
