"""`rbench resume`: go on with a run that ended before its plan did."""

from __future__ import annotations

from pathlib import Path

import click

from rbench.cli.configuration import limits_over
from rbench.cli.limit_options import limit_options
from rbench.cli.output import print_note
from rbench.cli.patience import MAKING_AGENT, told_if_slow
from rbench.cli.sessions import run_to_the_end
from rbench.plugins.catalog import build_catalog
from rbench.results.run_directory import RunDirectory
from rbench.running.executors import EXECUTORS, Execution
from rbench.running.resume import prepare_resume, recorded_limits


@click.command("resume")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--repeats", type=click.IntRange(min=1), help="More repeats of every instance, grids included.")
@click.option("--limit", type=click.IntRange(min=1), help="A later limit than the run has.")
@click.option("--workers", type=click.IntRange(min=1), help="Episodes at once; default one for each usable core.")
@click.option("--executor", type=click.Choice(list(EXECUTORS)), help="Where episodes run; default as before.")
@limit_options("as before", "as before", "as before")
@click.option("--accept-changes", is_flag=True, help="Go on although versions or options differ, and write down which.")
def command(
    directory: Path,
    repeats: int | None,
    limit: int | None,
    workers: int | None,
    executor: str | None,
    episode_limit: float | None,
    start_limit: float | None,
    worker_memory: float | None,
    accept_changes: bool,
) -> int:
    """Run what is missing of the run in DIR, and print its table.

    Needs nothing but DIR. Episodes with an infrastructure error run again, all others are kept. Refuses when a plugin,
    an option, the suite or the simulator is not what the run was made with.
    """
    run = RunDirectory.open(directory)
    with run:
        run.store()  # from here on this process is the writer, or knows who is
        if repeats is None and limit is None and run.counts()["missing"] == 0:
            if run.manifest.state != "finished":  # killed between its last episode and its end
                run.update(state="finished")
            print_note(f"nothing to do: all {run.manifest.planned} episodes are there")
            click.echo(f"run directory: {run.path}")
            return 0
        catalog = build_catalog()
        with told_if_slow(MAKING_AGENT):
            prepared = prepare_resume(
                catalog,
                run,
                repeats=repeats,
                limit=limit,
                execution=Execution(
                    executor or run.manifest.executor,
                    workers,
                    limits_over(recorded_limits(run.manifest), episode_limit, start_limit, worker_memory),
                ),
                accept_changes=accept_changes,
            )
        return run_to_the_end(prepared, run, catalog)
