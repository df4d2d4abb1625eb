"""`rbench report`: tables of one or several runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import click

from rbench.cli.output import print_json, print_note
from rbench.errors import StartError
from rbench.interfaces.metric import Convention
from rbench.plugins.catalog import build_catalog
from rbench.reporting.summary import summarise
from rbench.reporting.terminal import print_report, report_text
from rbench.results.atomic import replacing
from rbench.results.run_directory import open_run

FORMATS = ("table", "json")


@click.command("report")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("-o", "output", type=click.Path(path_type=Path, dir_okay=False), metavar="PATH", help="Write to a file.")
@click.option(
    "--convention",
    type=click.Choice(get_args(Convention)),
    default="default",
    show_default=True,
    help="paper: each context's CV is rounded before averaging, as RoboView-Bias prints it.",
)
def command(directories: tuple[Path, ...], form: str, output: Path | None, convention: Convention) -> int:
    """Table of each run in DIR..., also half-finished or still running.

    Exit code 1: a metric could not be computed; everything else is printed.
    """
    runs = [open_run(directory) for directory in directories]
    catalog = build_catalog()
    summaries = [summarise(run, catalog, convention) for run in runs]
    problems = list(dict.fromkeys(problem for summary in summaries for problem in summary["problems"]))
    if output is not None:
        _write(output, json.dumps(summaries, allow_nan=False, indent=2) if form == "json" else report_text(summaries))
    elif form == "json":
        print_json(summaries)
    else:
        print_report(summaries)  # says the problems itself
        return 1 if problems else 0
    for problem in problems:
        print_note(f"error: {problem}")
    return 1 if problems else 0


def _write(path: Path, text: str) -> None:
    try:
        with replacing(path) as file:
            file.write(text.rstrip("\n") + "\n")
    except OSError as problem:
        raise StartError(f"{path}: cannot be written ({problem.strerror}); choose another -o") from None
    print_note(f"report: {path}")
