"""Reading a store whose writer was killed in the middle of a transaction.

SQLite then leaves a "hot" journal beside the file, and the next *writer* rolls the half transaction
back. A reader that may not write cannot, and SQLite refuses it. So it reads a copy, rolled back.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path

from rbench.results.connection import connect, error_name, patiently

#: How often a copy is made anew because the next writer came while it was made.
_ATTEMPTS = 5


def open_past_hot_journal(path: Path, *, damaged: bool = False) -> sqlite3.Connection:
    """A connection for reading: to the file itself, or to a temporary copy that goes when it is closed.

    Args:
        damaged: as for `connect`.

    Raises:
        sqlite3.Error: the file cannot be read, or is not a database.
        OSError: there is no room for the copy.
    """
    for _ in range(_ATTEMPTS):
        connection = connect(path, "ro", damaged=damaged)
        try:
            patiently(lambda: connection.execute("SELECT count(*) FROM sqlite_master"))  # noqa: B023 - called at once
        except sqlite3.Error as problem:
            connection.close()
            if not needs_rollback(problem):
                raise
        else:
            return connection
        if (copy := _rolled_back_copy(path, damaged)) is not None:
            return copy
    raise OSError(f"{path} changes faster than it can be copied")


def needs_rollback(problem: sqlite3.Error) -> bool:
    """Whether a reader was refused because of a hot journal."""
    return error_name(problem) == "SQLITE_READONLY_ROLLBACK"


def _rolled_back_copy(path: Path, damaged: bool) -> sqlite3.Connection | None:
    """A copy; None when a writer took the journal away meanwhile, so that file and journal may not belong together."""
    journal = Path(f"{path}-journal")
    # The folder is removed at once: the open file lives on, without a name, until it is closed.
    with tempfile.TemporaryDirectory(prefix="rbench-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / path.name
        try:
            before = journal.stat()
            shutil.copyfile(path, copy)
            shutil.copyfile(journal, f"{copy}-journal")
            after = journal.stat()
        except FileNotFoundError:
            return None
        if (before.st_ino, before.st_mtime_ns, before.st_size) != (after.st_ino, after.st_mtime_ns, after.st_size):
            return None
        connection = connect(copy, "rw", damaged=damaged)
        connection.execute("SELECT count(*) FROM sqlite_master")
    return connection
