"""Files that are either the old or the new one, whatever happens while they are written."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, TextIO

#: What stands directly in these is a device or an open file (`/dev/stdout`), whatever it is connected to.
_OPEN_FILES = tuple(Path(place) for place in ("/dev", "/dev/fd", "/proc/self/fd"))


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes the place of `path` when the block ends well, and vanishes otherwise.

    UTF-8; what is written as a line end stays as it is. A symbolic link stays: the file it leads to is replaced. An
    existing file passes its permissions on. What is no regular file, such as a device or a FIFO, cannot be replaced
    and is written directly.

    Raises:
        OSError: it cannot be written.
    """
    if _is_written_directly(path):
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    with _beside(path) as beside, beside.open("x", encoding="utf-8", newline="") as file:
        _keep_mode(path, beside)
        yield file
        _sync(file)


@contextmanager
def replacing_binary(path: Path) -> Iterator[BinaryIO]:
    """The same for bytes."""
    if _is_written_directly(path):
        with path.open("wb") as file:
            yield file
        return
    with _beside(path) as beside, beside.open("xb") as file:
        _keep_mode(path, beside)
        yield file
        _sync(file)


def remove_leftovers(path: Path) -> None:
    """Remove what killed writers of `path` left beside it. Only for who knows that nobody else writes it now.

    Raises:
        OSError: a file cannot be removed.
    """
    target = path.resolve()
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.part")
    for beside in list(target.parent.iterdir()):
        if name.fullmatch(beside.name) and beside.is_file():
            beside.unlink(missing_ok=True)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """The path of a file in the same folder, which is renamed in the end."""
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield beside
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _is_written_directly(path: Path) -> bool:
    found = _status(path)
    return found is not None and (not stat.S_ISREG(found.st_mode) or path.absolute().parent in _OPEN_FILES)


def _keep_mode(path: Path, beside: Path) -> None:
    """Give the new file the permissions of the one it replaces, before anything is in it."""
    old = _status(path)
    # Not when they are alike already: some file systems have no permissions to set.
    if old is not None and stat.S_IMODE(old.st_mode) != stat.S_IMODE(beside.stat().st_mode):
        beside.chmod(stat.S_IMODE(old.st_mode))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _sync(file: IO[str] | IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
