"""`rbench report`: tables, pages and figures of one or several runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import click

from rbench.cli.output import print_json, print_note, print_text
from rbench.errors import StartError, UsageError
from rbench.interfaces.metric import Convention
from rbench.plugins.catalog import Catalog, build_catalog
from rbench.reporting.run_report import RunReport, gather
from rbench.reporting.summary import summarise
from rbench.reporting.terminal import print_report, report_text
from rbench.results.atomic import replacing
from rbench.results.run_directory import RunDirectory, open_run

FORMATS = ("table", "json", "html", "latex", "csv", "figures")

#: Where formats that are files go below a run's directory.
_PLACES = {"html": "report/index.html", "csv": "report/csv", "figures": "report/figures"}


@click.command("report")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="html: one page with everything; latex: tables; csv: every plotted number; figures: PDF and SVG.",
)
@click.option(
    "-o",
    "output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file; for csv a folder or a .zip, for figures a folder."
    f" Default: stdout, or below DIR for {', '.join(_PLACES)}.",
)
@click.option(
    "--convention",
    type=click.Choice(get_args(Convention)),
    default="default",
    show_default=True,
    help="paper: each context's CV is rounded before averaging, as RoboView-Bias prints it.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Compute this metric too, besides those that the suite names. May be given several times.",
)
@click.option("--no-pictures", is_flag=True, help="html: do not render the first frames of failures.")
def command(
    directories: tuple[Path, ...],
    form: str,
    output: Path | None,
    convention: Convention,
    metrics: tuple[str, ...],
    no_pictures: bool,
) -> int:
    """Report of the runs in DIR..., also half-finished or still running.

    Exit code 1: a metric could not be computed; everything else is there.
    """
    runs = [open_run(directory) for directory in directories]
    catalog = build_catalog()
    for name in metrics:
        catalog.get("metric", name)
    if form in ("table", "json"):
        summaries: Sequence[Any] = [summarise(run, catalog, convention, metrics) for run in runs]
        said = _print_summaries(summaries, form, output)
    else:
        place = _place(runs, form, output)
        reports = gather(runs, catalog, convention, metrics)
        summaries, said = [report.summary for report in reports], False
        _write_files(reports, catalog, form, place, pictures=not no_pictures)
    problems = list(dict.fromkeys(problem for summary in summaries for problem in summary["problems"]))
    if not said:
        for problem in problems:
            print_note(f"error: {problem}")
    return 1 if problems else 0


def _print_summaries(summaries: Sequence[Any], form: str, output: Path | None) -> bool:
    """Print or write a table or JSON; whether it said the problems of metrics."""
    if output is not None:
        _write(output, json.dumps(summaries, allow_nan=False, indent=2) if form == "json" else report_text(summaries))
        return False
    if form == "json":
        print_json(summaries)
        return False
    print_report(summaries)
    return True


def _place(runs: Sequence[RunDirectory], form: str, output: Path | None) -> Path | None:
    """Where files go; None: to stdout."""
    if output is not None:
        return output / "index.html" if form == "html" and output.is_dir() else output
    if form not in _PLACES:
        return None
    if len(runs) > 1:
        raise UsageError(f"a report of {len(runs)} runs belongs to none of them; say where it shall be with -o PATH")
    return runs[0].path / _PLACES[form]


def _write_files(
    reports: Sequence[RunReport], catalog: Catalog, form: str, place: Path | None, *, pictures: bool
) -> None:
    # Imported here: a table needs neither templates nor a plotting library.
    if form == "latex":
        from rbench.reporting.latex import latex_tables

        text = latex_tables(reports)
        if place is None:
            print_text(text)
        else:
            _write(place, text)
        return
    assert place is not None
    if form == "html":
        try:
            from rbench.reporting.html.page import report_page
        except ImportError as problem:
            raise StartError(f"pages need jinja2 ({problem}). Install it: pip install 'rbench[report]'") from None
        text = report_page(reports, catalog, pictures, place.parent)
        with _writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
        _write(place, text)
        return
    with _writing(place):
        if form == "csv":
            from rbench.reporting.tables_csv import write_csv

            files = write_csv(reports, place)
        else:
            from rbench.reporting.figures.paper import write_figures

            files = write_figures(reports, place)
    print_note(f"report: {place} ({len(files)} files)")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        where = problem.filename or path
        raise StartError(f"{where}: cannot be written ({problem.strerror or problem}); choose another -o") from None


def _write(path: Path, text: str) -> None:
    with _writing(path), replacing(path) as file:
        file.write(text.rstrip("\n") + "\n")
    print_note(f"report: {path}")
