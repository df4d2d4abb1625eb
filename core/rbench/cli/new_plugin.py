"""`rbench new-plugin`: a complete distribution, to be changed."""

from __future__ import annotations

from pathlib import Path

import click

from rbench.cli.output import print_text
from rbench.plugins.catalog import build_catalog
from rbench.testing.scaffold import SUMMARIES, new_plugin, next_commands


@click.command("new-plugin")
@click.argument("kind", type=click.Choice(list(SUMMARIES)), metavar="KIND")
@click.argument("name")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where to write it; must not exist. Default: rbench-KIND-NAME, here.",
)
def command(kind: str, name: str, folder: Path | None) -> None:
    """Write a plugin of KIND (agent, wrapper, factor, metric, suite) called NAME: it works and passes its checks.

    Nothing is asked, and nothing outside its folder is touched.
    """
    written = new_plugin(kind, name, folder, build_catalog())
    print_text(f"{written}: the {kind} {name!r}, ready to be installed and changed. Next:")
    for line in next_commands(kind, name, written):
        print_text(f"  {line}")
