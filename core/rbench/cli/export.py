"""`rbench export`: the records of a run, for other programs."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import click

from rbench.cli.output import print_note
from rbench.errors import UsageError
from rbench.results.run_directory import open_run

#: Format -> function. Imported when it is asked for.
FORMATS = {
    "jsonl": "rbench.results.export:export_jsonl",
    "csv": "rbench.results.export:export_csv",
    "parquet": "rbench.results.parquet:export_parquet",
}


@click.command("export")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(list(FORMATS)), help="Default: by the suffix of PATH, else jsonl.")
@click.option("-o", "output", required=True, metavar="PATH", help="A file; - is standard output.")
def command(directory: Path, form: str | None, output: str) -> None:
    """Write the records of the run in DIR: one JSON object a line, or one row of a table; also while it runs.

    The columns are explained in docs/results.md and, in Parquet, in the file itself.
    """
    suffix = Path(output).suffix.lower().removeprefix(".")
    chosen = form or (suffix if suffix in FORMATS else "jsonl")
    run = open_run(directory)
    module, _, name = FORMATS[chosen].partition(":")
    export: Callable[..., int] = getattr(importlib.import_module(module), name)
    count = _to_stdout(export, run, chosen) if output == "-" else export(run, Path(output))
    print_note(f"{count} episodes written" + ("" if output == "-" else f" to {output}"))


def _to_stdout(export: Callable[..., int], run: Any, form: str) -> int:
    """Bytes as they would stand in a file, whatever the terminal's encoding."""
    if form == "parquet":
        if sys.stdout.isatty():
            raise UsageError("Parquet is not for a terminal; give a file with -o, or send standard output to one")
        return export(run, _stdout())
    text = io.TextIOWrapper(_stdout(), encoding="utf-8", newline="")
    try:
        return export(run, text)
    finally:
        text.detach()


def _stdout() -> BinaryIO:
    sys.stdout.flush()
    return sys.stdout.buffer
