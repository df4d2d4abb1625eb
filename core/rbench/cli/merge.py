"""`rbench merge`: shards become one run directory."""

from __future__ import annotations

from pathlib import Path

import click

from rbench.cli.output import print_note, print_text
from rbench.plugins.catalog import build_catalog
from rbench.running.merge import merge, merged_shards


@click.command("merge")
@click.argument("directories", metavar="DIR DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, metavar="OUT", type=click.Path(path_type=Path), help="A new run directory.")
@click.option("--accept-changes", is_flag=True, help="Mix runs of other versions or OpenGL, and write down which.")
def command(directories: tuple[Path, ...], out: Path, accept_changes: bool) -> None:
    """Put the runs in DIR DIR... together in OUT: the shards of one plan, some or all, finished or not.

    They must agree in all that decides an episode. An episode that several have must be the same in all of them.
    Episodes that none has are missing in OUT; `rbench resume OUT` runs them. The runs stay as they are.
    """
    run = merge(build_catalog(), directories, out, accept_changes=accept_changes)
    counts = run.counts()
    print_text(f"{len(directories)} runs: {counts['done']} of {counts['planned']} episodes")
    there, missing = merged_shards(run.manifest)
    if missing:
        print_text(f"shards {', '.join(there)}; not there: {', '.join(missing)}")
    if counts["missing"]:
        print_note(f"{counts['missing']} episodes are missing; run them with: rbench resume {out}")
    click.echo(f"run directory: {run.path}")
