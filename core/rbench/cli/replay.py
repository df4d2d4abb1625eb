"""`rbench replay`: the recorded actions of an episode again."""

from __future__ import annotations

from pathlib import Path

import click

from rbench.plugins.catalog import build_catalog
from rbench.results.run_directory import open_run
from rbench.running.replay import replay_episode


@click.command("replay")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("episode")
def command(directory: Path, episode: str) -> int:
    """Run the recorded actions of EPISODE of the run in DIR again and compare, byte for byte."""
    result = replay_episode(build_catalog(), open_run(directory), episode)
    frames = f", {result.frames} first frames" if result.frames else ""
    if result.differences:
        click.echo(f"{episode}: DIFFERENT in {', '.join(result.differences)} ({result.ticks} ticks{frames})")
        return 1
    click.echo(f"{episode}: identical ({result.ticks} ticks{frames}, outcome {result.record.outcome})")
    return 0
