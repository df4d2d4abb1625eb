"""`rbench run`: run an agent over a suite, ending in the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rbench.cli.configuration import wishes
from rbench.cli.dry_run import print_dry_run
from rbench.cli.limit_options import limit_options
from rbench.cli.patience import MAKING_AGENT, told_if_slow
from rbench.cli.sessions import run_to_the_end
from rbench.plugins.catalog import build_catalog
from rbench.results.run_directory import RunDirectory
from rbench.running.executors import EXECUTORS
from rbench.running.run import prepare


@click.command("run")
@click.argument("suite", required=False)
@click.option("--agent", metavar="NAME", help="Name of an agent, or module:attribute.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the agent; @FILE.toml: many.")
@click.option("--wrap", "wrappers", multiple=True, metavar="WRAPPER", help="Wrap the agent; outermost first.")
@click.option(
    "-w", "--wrapper-option", "wrapper_options", multiple=True, metavar="WRAPPER.KEY=VALUE", help="Of a wrapper."
)
@click.option("--vision", metavar="NAME", help="Vision model of the run.")
@click.option(
    "-v",
    "--vision-option",
    "vision_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="Of the vision model; without --vision of opencv.",
)
@click.option("--dimension", multiple=True, metavar="D", help="Only this dimension; repeatable.")
@click.option("--instances", multiple=True, metavar="GLOB", help="Only instances whose id matches; repeatable.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many episodes: a fair sample of the plan.")
@click.option("--repeats", type=click.IntRange(min=1), help="Repeats of every instance, grids included.")
@click.option("--preset", metavar="NAME", help="A part of the suite that it names itself, such as quick.")
@click.option("--shard", metavar="I/N", help="Part I of N of what is left: a fair sample; rbench merge joins them.")
@click.option("--seed", type=click.IntRange(min=0), help="The run seed; default 0.")
@click.option("--workers", type=click.IntRange(min=1), help="Episodes at once; default one for each usable core.")
@click.option("--executor", type=click.Choice(list(EXECUTORS)), help="Where episodes run; changes no record.")
@limit_options("1800, 0: none", "600, 0: none", "an equal share of 90 % of the machine's, 0: any")
@click.option("--out", type=click.Path(), metavar="DIR", help="Run directory; must not exist yet.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML with the words of these options, or the manifest.json of another run. Options given here win.",
)
@click.option("--dry-run", is_flag=True, help="Say what it would take, from a probe of three episodes; write nothing.")
def command(config: Path | None, dry_run: bool, **said: Any) -> int:
    """Run an agent over SUITE and print its table.

    Every finished episode is on disk before it counts; `rbench resume` goes on with a run that was ended in whatever
    way. The last line names the run directory.
    """
    wanted = wishes(config, **said)
    catalog = build_catalog()
    with told_if_slow(MAKING_AGENT):
        prepared = prepare(catalog, wanted.description(), wanted.execution())
    if dry_run:
        print_dry_run(prepared)
        return 0
    directory = RunDirectory.create(None if wanted.out is None else Path(wanted.out), prepared.manifest)
    return run_to_the_end(prepared, directory, catalog)
