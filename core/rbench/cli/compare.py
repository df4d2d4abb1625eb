"""`rbench compare`: two runs against each other."""

from __future__ import annotations

from pathlib import Path

import click

from rbench.cli.numbers import FiniteRange
from rbench.cli.output import print_json, print_note
from rbench.plugins.catalog import build_catalog
from rbench.reporting.comparison import compare_runs
from rbench.reporting.comparison_table import comparison_table
from rbench.reporting.terminal import print_table
from rbench.results.run_directory import open_run


@click.command("compare")
@click.argument("first", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("second", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--margin",
    type=FiniteRange(0, 1, min_open=True),
    default=0.05,
    show_default=True,
    help="Difference of success rates (0..1) that does not matter.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(first: Path, second: Path, margin: float, as_json: bool) -> int:
    """Compare the second run with the first, episode by episode.

    Refuses runs that differ in suite, render profile or seed, or have no episode in common (exit code 2). Episodes that
    only one has are left out. Two names of one directory are worth a warning.

    Exit code 1: a metric could not be computed; everything else is printed.
    """
    comparison = compare_runs(open_run(first), open_run(second), build_catalog(), margin)
    if as_json:
        print_json(comparison)
        for warning in comparison["warnings"]:
            print_note(f"warning: {warning}")
        for problem in comparison["problems"]:
            print_note(f"error: {problem}")
    else:
        print_table(comparison_table(comparison))  # says the problems itself
    return 1 if comparison["problems"] else 0
