"""`rbench replay`: the recorded actions of an episode again, and films of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

from rbench.cli.output import print_note, print_text
from rbench.errors import UsageError
from rbench.plugins.catalog import build_catalog
from rbench.results.run_directory import RunDirectory, open_run
from rbench.running.replay import Replayer, ReplayResult


@click.command("replay")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("episodes", metavar="[EPISODE]...", nargs=-1)
@click.option("--failures", type=click.IntRange(min=1), metavar="N", help="The first N episodes that did not succeed.")
@click.option("--video", type=click.Path(path_type=Path), metavar="FILE", help="A film: .mp4, .gif, or .png (a strip).")
@click.option("--video-folder", type=click.Path(path_type=Path), metavar="FOLDER", help="A film of each, .mp4.")
@click.option("--frames", type=click.Path(path_type=Path), metavar="FOLDER", help="Bare pictures, CAMERA/TICK.png.")
@click.option("--camera", "cameras", multiple=True, metavar="C", help="Camera of the scene; several are tiled.")
@click.option("--fps", type=click.IntRange(min=1), help="Pictures a second; default: one for each control tick.")
@click.option("--height", type=click.IntRange(16, 2048), default=480, show_default=True, help="Pixels of a camera.")
@click.option("--width", type=click.IntRange(16, 2048), default=480, show_default=True, help="Pixels of a camera.")
def command(
    directory: Path,
    episodes: tuple[str, ...],
    failures: int | None,
    video: Path | None,
    video_folder: Path | None,
    frames: Path | None,
    cameras: tuple[str, ...],
    fps: int | None,
    height: int,
    width: int,
) -> int:
    """Run the recorded actions of EPISODE of the run in DIR again and compare, byte for byte.

    No agent is asked. With --video, --video-folder or --frames what cameras see is written too. Exit code 1: something
    was different, and is named.
    """
    run = open_run(directory)
    wanted = [*episodes, *(islice(_not_succeeded(run), failures) if failures else ())]
    if not wanted:
        if failures:
            print_note(f"no episode of {directory} failed")
            return 0
        raise UsageError(f"name an episode of {directory}, or ask for --failures N. `rbench export` lists them all")
    if len(wanted) > 1 and (video or frames):
        raise UsageError("--video and --frames take one episode; give a --video-folder for several")
    filmed = video or video_folder or frames
    different = False
    with Replayer(build_catalog(), run) as replayer:
        for episode in wanted:
            if filmed:
                # Only here: it loads what draws and encodes.
                from rbench.running.filming import View, film_episode, video_name

                file = video or (video_folder / f"{video_name(episode)}.mp4" if video_folder else None)
                result = film_episode(
                    replayer, episode, View(tuple(dict.fromkeys(cameras)), height, width, fps), file, frames
                )
            else:
                file, result = None, replayer.replay(episode)
            print_text(_verdict(episode, result))
            for written in (file, frames):
                if written is not None:
                    print_text(f"  {written}")
            different |= bool(result.differences)
        if different and replayer.changes:
            print_note(f"recorded with {'; '.join(replayer.changes)}")
    return 1 if different else 0


def _verdict(episode: str, result: ReplayResult) -> str:
    frames = f", {result.frames} first frames" if result.frames else ""
    if result.differences:
        return f"{episode}: DIFFERENT in {', '.join(result.differences)} ({result.ticks} ticks{frames})"
    return f"{episode}: identical ({result.ticks} ticks{frames}, outcome {result.record.outcome})"


def _not_succeeded(run: RunDirectory) -> Iterator[str]:
    """Episodes in the order they were added, which is a fair sample; what never moved cannot be shown."""
    return (record.episode for record in run.episodes() if record.counted and not record.success and record.steps)
