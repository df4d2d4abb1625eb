"""`rbench collect`: demonstrations for training."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from rbench.cli.output import print_note
from rbench.cli.progress import RunProgress
from rbench.cli.values import parse_options
from rbench.collecting.api import collect
from rbench.collecting.collection import CAMERAS, EPISODES, RATE, SIZE, Collection
from rbench.collecting.formats.form import FORMATS
from rbench.errors import UsageError
from rbench.plugins.catalog import build_catalog
from rbench.results.run_directory import RunDirectory
from rbench.running.description import Part
from rbench.running.executors import DEFAULT_EXECUTOR, EXECUTORS, Execution
from rbench.running.run import PreparedRun, execute

#: Seconds between two lines of progress.
INTERVAL = 5.0


@click.command("collect")
@click.argument("suite")
@click.option("--agent", default="expert", show_default=True, metavar="NAME", help="Who demonstrates.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the agent; @FILE.toml: many.")
@click.option("--episodes", type=click.IntRange(min=1), default=EPISODES, show_default=True, help="Demonstrations.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="lerobot-v2.1", show_default=True)
@click.option("-o", "output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The data set.")
@click.option("--camera", "cameras", multiple=True, metavar="NAME", help=f"Default: {', '.join(CAMERAS)}. Repeatable.")
@click.option("--size", default=str(SIZE), show_default=True, metavar="N|HxW", help="Of the pictures, in pixels.")
@click.option(
    "--rate", type=click.IntRange(min=1), default=RATE, show_default=True, help="Ticks and pictures a second."
)
@click.option(
    "--pictures",
    type=click.Choice(["video", "png"]),
    default="video",
    show_default=True,
    help="In LeRobot formats: films (H.264, small) or PNG (every pixel as drawn). raw always keeps every pixel.",
)
@click.option("--jitter-xy", type=float, metavar="M", help="Half width of the position jitter; default the suite's.")
@click.option("--jitter-yaw", type=float, metavar="DEGREES", help="Half width of the yaw jitter; default the suite's.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The run seed.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default one for each usable core.")
@click.option("--executor", type=click.Choice(list(EXECUTORS)), default=DEFAULT_EXECUTOR, help="Where episodes run.")
@click.option("--accept-changes", is_flag=True, help="Go on although versions differ from those it began with.")
def command(
    suite: str,
    agent: str,
    options: tuple[str, ...],
    episodes: int,
    form: str,
    output: Path,
    cameras: tuple[str, ...],
    size: str,
    rate: int,
    pictures: str,
    jitter_xy: float | None,
    jitter_yaw: float | None,
    seed: int,
    workers: int | None,
    executor: str,
    accept_changes: bool,
) -> None:
    """Collect demonstrations of SUITE: its contexts and jitter vary, everything visual stays at its baseline.

    Episodes that fail are left out and counted. After any end the same command goes on with what is there, also with
    more --episodes. The data set depends on these options alone, not on workers.
    """
    height, width = _sides(size)
    wanted = Collection(
        suite=suite,
        suite_hash="",
        agent=Part.named(agent, parse_options(options, "--option")),
        form=form,
        episodes=episodes,
        seed=seed,
        rate=rate,
        cameras=cameras or CAMERAS,
        height=height,
        width=width,
        pictures=pictures,
        jitter_xy=jitter_xy,
        jitter_yaw=jitter_yaw,
    )
    progress = _Progress()
    gathered = collect(
        build_catalog(), wanted, output, Execution(executor, workers), accept_changes, _with_progress, progress.tell
    )
    for outcome, count in sorted(gathered.failures.items()):
        print_note(f"left out: {count} of {gathered.attempts} attempts ({outcome})")
    click.echo(f"data set: {output}")


def _with_progress(prepared: PreparedRun, directory: RunDirectory) -> None:
    with RunProgress(prepared.plan.count, directory.store().counts()) as progress:
        execute(prepared, directory, progress.advance, progress.waiting)


class _Progress:
    """Tells how many demonstrations are written, now and then."""

    def __init__(self) -> None:
        self._told = -INTERVAL

    def tell(self, done: int, planned: int) -> None:
        now = time.monotonic()
        if now - self._told < INTERVAL and done < planned:
            return
        self._told = now
        sys.stderr.write(f"{done}/{planned} demonstrations written\n")
        sys.stderr.flush()


def _sides(text: str) -> tuple[int, int]:
    """Height and width in `224` or `180x320`."""
    parts = text.lower().split("x")
    if len(parts) in (1, 2) and all(part.isascii() and part.isdigit() and len(part) <= 6 for part in parts):
        return int(parts[0]), int(parts[-1])
    raise UsageError(f"--size {text!r}: give one number of pixels, or HEIGHTxWIDTH such as 180x320")
