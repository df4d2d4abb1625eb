"""`rbench status`: how far a run is."""

from __future__ import annotations

from pathlib import Path

import click

from rbench.cli.output import print_json, print_text
from rbench.results.run_directory import open_run


@click.command("status")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="A JSON object: state and counts.")
def command(directory: Path, as_json: bool) -> None:
    """How far the run in DIR is; also while it runs."""
    run = open_run(directory)
    counts = run.counts()
    if as_json:
        print_json({"state": run.state, "counts": counts})
        return
    outcomes = ", ".join(f"{name} {n}" for name, n in counts.items() if name not in ("planned", "done", "missing"))
    print_text(
        f"{run.state}: {counts['done']} of {counts['planned']} episodes, {counts['missing']} missing ({outcomes})"
    )
