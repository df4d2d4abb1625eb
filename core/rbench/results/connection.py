"""Connections to an episode store: one writer, many readers, nobody kept waiting for long.

While the writer commits, readers are shut out. SQLite lets a reader ask again after 100 ms, and a writer that commits
back to back leaves gaps of a fraction of one: such a reader may wait for ever. So a reader asks every millisecond,
and the writer leaves gaps (`EpisodeStore.append`).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

#: Seconds that a reader or the writer waits for the other.
PATIENCE = 60.0
_POLL = 0.0005

T = TypeVar("T")


def connect(path: Path, mode: Literal["ro", "rw"], *, damaged: bool = False) -> sqlite3.Connection:
    """A connection in which every statement is its own transaction unless BEGIN says otherwise.

    Args:
        damaged: let statements read what they can of a file that was cut off or holds what is no text.

    Raises:
        sqlite3.Error: there is no such file, or it cannot be opened.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=PATIENCE if mode == "rw" else 0.0,
        isolation_level=None,
    )
    if damaged:
        # Without, SQLite refuses a file that is shorter than it says itself. Nothing is written: the mode forbids it.
        connection.execute("PRAGMA writable_schema = ON")
        connection.text_factory = lambda data: data.decode(errors="replace")
    if mode == "rw":
        connection.execute("PRAGMA synchronous = FULL")
        # As safe as deleting the journal at every commit, and a third less work for the system.
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA foreign_keys = ON")
    return connection


def patiently(read: Callable[[], T]) -> T:
    """What `read` returns, once the writer leaves room for it.

    Raises:
        sqlite3.Error: it failed for another reason, or the file stayed locked.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return read()
        except sqlite3.OperationalError as problem:
            if not error_name(problem).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
        time.sleep(_POLL)


def error_name(problem: Exception) -> str:
    """SQLite's name of an error (`SQLITE_FULL`), or nothing: not all errors of the module come from SQLite."""
    return str(getattr(problem, "sqlite_errorname", ""))
