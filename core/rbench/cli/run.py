"""`rbench run`: run an agent over a suite, ending in the table."""

from __future__ import annotations

from pathlib import Path

import click

from rbench.cli.progress import RunProgress
from rbench.cli.values import parse_options, parse_wrapper_options
from rbench.plugins.catalog import build_catalog
from rbench.reporting.summary import summarise
from rbench.reporting.terminal import print_report
from rbench.results.run_directory import RunDirectory
from rbench.running.description import Part, RunDescription
from rbench.running.plan import Selection
from rbench.running.run import execute, prepare


@click.command("run")
@click.argument("suite")
@click.option("--agent", required=True, help="Name of an agent, or module:attribute.")
@click.option("-o", "options", multiple=True, metavar="KEY=VALUE", help="Option of the agent; @FILE.toml gives many.")
@click.option("--wrap", "wrappers", multiple=True, metavar="WRAPPER", help="Wrap the agent; outermost first.")
@click.option("-w", "wrapper_options", multiple=True, metavar="WRAPPER.KEY=VALUE", help="Option of a wrapper.")
@click.option("--vision", metavar="NAME", help="Vision model of the run.")
@click.option("-v", "vision_options", multiple=True, metavar="KEY=VALUE", help="Option of the vision model.")
@click.option("--dimension", "dimensions", multiple=True, metavar="D", help="Only this dimension; repeatable.")
@click.option("--instances", multiple=True, metavar="GLOB", help="Only instances whose id matches; repeatable.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many episodes: a fair sample of the plan.")
@click.option("--repeats", type=click.IntRange(min=1), help="Repeats of every instance, grids included.")
@click.option("--preset", metavar="NAME", help="A part of the suite that it names itself, such as quick.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The run seed.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Run directory; must not exist yet.")
def command(
    suite: str,
    agent: str,
    options: tuple[str, ...],
    wrappers: tuple[str, ...],
    wrapper_options: tuple[str, ...],
    vision: str | None,
    vision_options: tuple[str, ...],
    dimensions: tuple[str, ...],
    instances: tuple[str, ...],
    limit: int | None,
    repeats: int | None,
    preset: str | None,
    seed: int,
    out: Path | None,
) -> int:
    """Run an agent over SUITE and print its table.

    Every finished episode is on disk before it counts. The last line names the run directory.
    """
    by_wrapper = parse_wrapper_options(wrapper_options, wrappers)
    description = RunDescription(
        suite=suite,
        agent=_part(agent, parse_options(options, "-o")),
        wrappers=tuple(_part(name, by_wrapper[name]) for name in wrappers),
        vision=_part(vision, parse_options(vision_options, "-v")) if vision else None,
        selection=Selection(dimensions=dimensions, instances=instances, limit=limit, repeats=repeats, preset=preset),
        seed=seed,
    )
    catalog = build_catalog()
    prepared = prepare(catalog, description)
    directory = RunDirectory.create(out, prepared.manifest)
    try:
        with directory, RunProgress(prepared.plan.count) as progress:
            execute(prepared, directory, progress.advance)
    except BaseException:
        click.echo(f"run directory: {directory.path}", err=True)
        raise
    summary = summarise(directory, catalog)
    print_report([summary])
    click.echo(f"run directory: {directory.path}")
    counts = summary["counts"]
    return 1 if counts["agent_error"] + counts["unstable"] + counts["infrastructure_error"] else 0


def _part(name: str, options: dict[str, object]) -> Part:
    """A part of the run; an unpackaged one remembers the folder it is imported from."""
    return Part(name, options, str(Path.cwd()) if ":" in name else None)
