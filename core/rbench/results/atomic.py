"""Files that are either the old or the new one, whatever happens while they are written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, TextIO


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes the place of `path` when the block ends well, and vanishes otherwise.

    UTF-8; what is written as a line end stays as it is.

    Raises:
        OSError: it cannot be written.
    """
    beside = _beside(path)
    with _put_in_place(beside, path), beside.open("x", encoding="utf-8", newline="") as file:
        yield file
        _sync(file)


@contextmanager
def replacing_binary(path: Path) -> Iterator[BinaryIO]:
    """The same for bytes."""
    beside = _beside(path)
    with _put_in_place(beside, path), beside.open("xb") as file:
        yield file
        _sync(file)


@contextmanager
def _put_in_place(beside: Path, path: Path) -> Iterator[None]:
    try:
        yield
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _sync(file: IO[str] | IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
