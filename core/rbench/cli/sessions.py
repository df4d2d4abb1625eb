"""What `run` and `resume` have in common: progress, the table, and how to go on after an end that came early."""

from __future__ import annotations

import contextlib

import click

from rbench.cli.output import print_note
from rbench.cli.progress import RunProgress
from rbench.errors import RbenchError
from rbench.plugins.catalog import Catalog
from rbench.reporting.summary import summarise
from rbench.reporting.terminal import print_report
from rbench.results.run_directory import RunDirectory
from rbench.running.run import PreparedRun, execute


def run_to_the_end(prepared: PreparedRun, directory: RunDirectory, catalog: Catalog) -> int:
    """Run what is missing, print the table, and return the exit code."""
    print_note(f"run directory {directory.path} (from another terminal: rbench status {directory.path})")
    try:
        with directory, RunProgress(prepared.plan.count, directory.store().counts()) as progress:
            execute(prepared, directory, progress.advance, progress.waiting)
    except BaseException:
        with contextlib.suppress(RbenchError):
            counts = directory.counts()
            print_note(f"{counts['done']} of {counts['planned']} episodes are on disk")
        print_note(f"go on with: rbench resume {directory.path}")
        raise
    summary = summarise(directory, catalog)
    print_report([summary])
    if times := progress.times_line():
        print_note(times)
    click.echo(f"run directory: {directory.path}")
    return 0 if summary["clean"] else 1
