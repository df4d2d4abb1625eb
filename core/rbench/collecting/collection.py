"""A collection: what demonstrations are of, and where its files lie.

DIR/                    the data set, laid out as its format says
DIR/README.md           the data set card
DIR/collection/         how it came to be:
    collection.json     what was asked for (`Collection`)
    suite.toml          the suite that was run: contexts varied, everything visual at its baseline
    run/                a run directory like any other: records and trajectories, also of the attempts that failed
    written/            one JSON file for every demonstration that is completely in the data set
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rbench.errors import StartError, StoppedEarly, UsageError
from rbench.results.atomic import replacing
from rbench.running.description import Part
from rbench.values import from_plain, to_plain

#: The cameras of the paper's rig, which the built-in scene has (RoboView-Bias A.3: a gripper and a top-left camera are
#: what the model sees; front and right were recorded too).
CAMERAS = ("wrist", "front", "left_top", "right_top")
#: As many demonstrations as in the paper (A.3), at the rate of DROID, with pictures of the size that openpi's models
#: see.
EPISODES, RATE, SIZE = 350, 15, 224


@dataclass(frozen=True)
class Collection:
    """What is collected. It decides every byte of the data set but for versions and the OpenGL renderer.

    Attributes:
        suite: name of a suite or path of a suite file, as given.
        suite_hash: of that suite.
        agent: who demonstrates.
        episodes: demonstrations wanted; attempts that fail are not among them.
        seed: the run seed, >= 0.
        rate: control ticks and pictures a second.
        cameras: of the scene, in the order of the data set.
        height, width: of the pictures, in pixels.
        form: name of the format.
        pictures: `video` or `png`, where the format has a choice.
        jitter_xy, jitter_yaw: half widths in place of the suite's, m and degrees; None: the suite's.
    """

    suite: str
    suite_hash: str
    agent: Part
    form: str
    episodes: int = EPISODES
    seed: int = 0
    rate: int = RATE
    cameras: tuple[str, ...] = CAMERAS
    height: int = SIZE
    width: int = SIZE
    pictures: str = "video"
    jitter_xy: float | None = None
    jitter_yaw: float | None = None


@dataclass(frozen=True)
class Place:
    """The folder of a collection, and what lies where in it."""

    path: Path
    inside: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inside", self.path / "collection")

    @property
    def suite(self) -> Path:
        return self.inside / "suite.toml"

    @property
    def run(self) -> Path:
        return self.inside / "run"

    @property
    def begun(self) -> bool:
        """Whether a run is there to go on with."""
        return (self.run / "manifest.json").exists()

    def written(self, index: int) -> Path:
        """The file that says that a demonstration is completely in the data set."""
        return self.inside / "written" / f"{index:06d}.json"


def check_place(path: Path, wanted: Collection) -> Place:
    """The folder of a collection, which may be new or hold what there is of it; writes nothing.

    Raises:
        UsageError: something else lies there, or a collection that differs in more than a smaller number of episodes.
        StartError: it cannot be read.
    """
    place = Place(path)
    file = place.inside / "collection.json"
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file; choose a folder with -o")
    if file.exists():
        _check_same(_read(file), wanted, path)
    elif path.exists() and any(item.name != "collection" for item in path.iterdir()):
        raise UsageError(f"{path} is not empty and holds no collection; choose another folder with -o")
    return place


def take_place(place: Place, wanted: Collection) -> None:
    """Make the folder of a collection that `check_place` let pass, or go on with the one that lies there.

    Raises:
        StartError: it cannot be written.
    """
    path = place.path
    for leftover in path.glob("**/.*.part") if path.exists() else ():  # of a process that was killed
        leftover.unlink(missing_ok=True)
    try:
        write_json(place.inside / "collection.json", to_plain(wanted))
    except StoppedEarly as problem:
        raise StartError(str(problem)) from problem


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file that appears whole or not at all.

    Raises:
        StoppedEarly: the disk is full or not writable.
    """
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """The same for a text."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(text)
    except OSError as problem:
        raise cannot_write(path, problem) from problem


def cannot_write(path: Path, problem: OSError) -> StoppedEarly:
    """What to say when a file of a data set cannot be written."""
    return StoppedEarly(
        f"cannot write {path}: {problem.strerror or problem}; free space or make it writable, and give the same command"
        " again: what is there is kept"
    )


def read_collection(path: Path) -> Collection:
    """The collection in a folder.

    Raises:
        UsageError: there is none, or its file is damaged.
    """
    file = Place(path).inside / "collection.json"
    if not file.is_file():
        raise UsageError(f"{path} holds no collection; give the folder that `rbench collect` has written")
    return _read(file)


def _read(file: Path) -> Collection:
    try:
        return from_plain(Collection, json.loads(file.read_text(encoding="utf-8")))
    except OSError as problem:
        raise StartError(f"cannot read {file}: {problem.strerror}; check its permissions") from problem
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{file} is damaged: {problem}; collect into another folder") from problem


def _check_same(found: Collection, wanted: Collection, path: Path) -> None:
    for f in fields(Collection):
        before, now = getattr(found, f.name), getattr(wanted, f.name)
        if f.name == "episodes" and before <= now:
            continue
        if to_plain(before) != to_plain(now):
            raise UsageError(
                f"{path} holds a collection with another {f.name.replace('_', ' ')} ({_short(before)}, wanted"
                f" {_short(now)}); give the command as it was, or collect into another folder with -o"
            )


def _short(value: Any) -> str:
    text = json.dumps(to_plain(value))
    return text if len(text) <= 80 else f"{text[:77]}..."
