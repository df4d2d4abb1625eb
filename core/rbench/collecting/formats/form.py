"""What a format is, and the ways in which formats put files into a data set."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from rbench.collecting.collection import Collection, cannot_write
from rbench.collecting.demonstration import Demonstration
from rbench.errors import UsageError, did_you_mean
from rbench.results.atomic import replacing_binary

#: Name -> target of the format. Imported when it is asked for.
FORMATS = {
    "lerobot-v2.1": "rbench.collecting.formats.lerobot_v21:LeRobotV21",
    "lerobot-v3.0": "rbench.collecting.formats.lerobot_v30:LeRobotV30",
    "raw": "rbench.collecting.formats.raw:Raw",
}


@dataclass(frozen=True)
class Written:
    """A demonstration that is completely on disk.

    Attributes:
        index, start, length, episode, instruction, instruction_index: as in `demonstration.Slot`.
        origin: what of its record says how to make it again: instance, repeat, levels, jitter, seed, hashes.
        gl: which OpenGL drew its pictures.
        files: path below the data set -> SHA-256.
        statistics: what the format wants to know of it in the end.
    """

    index: int
    start: int
    length: int
    episode: str
    instruction: str
    instruction_index: int
    origin: Mapping[str, Any]
    gl: Mapping[str, Any]
    files: Mapping[str, str]
    statistics: Mapping[str, Any]


class Format(Protocol):
    """A form of data set. `check` comes first, `write` in any process and order, `finish` last."""

    def __init__(self, collection: Collection) -> None: ...

    def check(self) -> None:
        """Refuse what this form cannot hold, and a missing library.

        Raises:
            UsageError, StartError.
        """

    def write(self, root: Path, demonstration: Demonstration) -> tuple[list[str], dict[str, Any]]:
        """Write what belongs to one demonstration alone.

        Returns:
            Paths of its files below `root`, and plain data that `finish` needs.
        """

    def finish(self, root: Path, written: Sequence[Written]) -> None:
        """Write what belongs to all; files of an earlier, smaller collection are replaced."""


def format_named(collection: Collection) -> Format:
    """The format of a collection. Raises UsageError when there is none of that name."""
    target = FORMATS.get(collection.form)
    if target is None:
        raise UsageError(f"format {collection.form!r} is not known.{did_you_mean(collection.form, FORMATS)}")
    module, _, name = target.partition(":")
    made: Format = getattr(importlib.import_module(module), name)(collection)
    return made


def write_bytes(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file that appears whole or not at all.

    Raises:
        StoppedEarly: the disk is full or not writable.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing_binary(path) as file:
            write(file)
    except OSError as problem:
        raise cannot_write(path, problem) from problem


def sha256(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
