"""Films of episodes: a replay with cameras running. Made after the run, from what was recorded."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from rbench.errors import StartError, UsageError, did_you_mean
from rbench.interfaces.world import World
from rbench.record import EpisodeRecord
from rbench.results.run_directory import RunDirectory
from rbench.running.captions import Picture, Sheet
from rbench.running.replay import Replayer, ReplayResult
from rbench.running.video import Film, VideoFile, writing_video
from rbench.world_state import WorldState


@dataclass(frozen=True)
class View:
    """How an episode is filmed.

    Attributes:
        cameras: of the scene, in the order in which they are shown; none: the agent's primary one, or `front`.
        height, width: of each camera's picture, in pixels.
        fps: pictures a second of simulated time; None: one for each control tick.
    """

    cameras: tuple[str, ...] = ()
    height: int = 480
    width: int = 480
    fps: int | None = None


def film_episode(
    replayer: Replayer, episode: str, view: View, video: Path | None = None, frames: Path | None = None
) -> ReplayResult:
    """Replay an episode, and write what its cameras see.

    Args:
        video: a film with captions: `.mp4`, `.gif`, or `.png` for a strip of moments.
        frames: a folder that gets the bare pictures, `CAMERA/NUMBER.png`; the number counts control ticks.

    Raises:
        UsageError: no such episode or camera, more pictures than control ticks, an unknown kind of file.
        StartError: a library is missing, OpenGL does not work, or nothing can be written.
    """
    rate = _control_rate(replayer.run)
    fps = rate if view.fps is None else view.fps
    if fps > rate:
        raise UsageError(f"{fps} pictures a second: the episode was recorded at {rate} Hz; ask for at most {rate}")
    record = replayer.record(episode)
    cameras = _chosen_cameras(replayer, record, view.cameras)
    with ExitStack() as stack:
        crew = _Crew(Sheet(record, cameras, view.height, view.width), fps, rate, frames)
        if video is not None:
            film = Film(record.episode, fps, record.steps * fps // rate + 1)
            crew.video = stack.enter_context(writing_video(video, film))
        return replayer.replay(episode, crew.watch)


def video_name(episode: str) -> str:
    """A file name for an episode: `color/red/base#2` is `color~red~base~2`. No other episode has the same."""
    return episode.replace("/", "~").replace("#", "~")


@dataclass
class _Crew:
    """Takes a picture whenever one is due."""

    sheet: Sheet
    fps: int
    rate: int
    frames: Path | None
    video: VideoFile | None = None
    taken: int = field(default=0, init=False)

    def watch(self, world: World, record: EpisodeRecord, state: WorldState) -> None:
        if state.time * self.fps < self.taken - 1e-6:
            return
        self.taken += 1
        sheet = self.sheet
        pictures = {name: world.render(name, sheet.height, sheet.width) for name in sheet.cameras}
        if self.video is not None:
            self.video.add(sheet.compose(pictures, state.time))
        if self.frames is not None:
            for name, picture in pictures.items():
                _save(picture, self.frames / name / f"{round(state.time * self.rate):06d}.png")


def _save(picture: Picture, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path, "PNG")
    except OSError as problem:
        raise StartError(f"{path}: cannot be written ({problem.strerror or problem}); choose another place") from None


def _control_rate(run: RunDirectory) -> int:
    return int(run.manifest.agent.manifest["control_rate"])


def _chosen_cameras(replayer: Replayer, record: EpisodeRecord, wanted: tuple[str, ...]) -> tuple[str, ...]:
    scene = replayer.suite.scenes[replayer.suite.task(record.task).scene]
    names = [camera.name for camera in scene.cameras]
    for name in wanted:
        if name not in names:
            raise UsageError(f"camera {name!r} is not in scene {scene.name!r}.{did_you_mean(name, names)}")
    primary = replayer.run.manifest.agent.manifest.get("primary")
    return wanted or (primary if primary in names else "front" if "front" in names else names[0],)
