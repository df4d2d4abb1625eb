"""Reading a store whose writer was killed in the middle of a transaction.

SQLite then leaves a "hot" journal beside the file, and the next *writer* rolls the half transaction
back. A reader that may not write cannot, and SQLite refuses it. So it reads a copy, rolled back.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path


def open_past_hot_journal(path: Path, connect: Callable[[Path, str], sqlite3.Connection]) -> sqlite3.Connection:
    """A connection for reading: to the file itself, or to a temporary copy that goes when it is closed.

    Raises:
        sqlite3.Error: the file cannot be read, or is not a database.
        OSError: there is no room for the copy.
    """
    connection = connect(path, "ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as problem:
        connection.close()
        if problem.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
            raise
        return _rolled_back_copy(path, connect)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _rolled_back_copy(path: Path, connect: Callable[[Path, str], sqlite3.Connection]) -> sqlite3.Connection:
    # The folder is removed at once: the open file lives on, without a name, until it is closed.
    with tempfile.TemporaryDirectory(prefix="rbench-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(f"{path}-journal", f"{copy}-journal")
        connection = connect(copy, "rw")
        connection.execute("SELECT count(*) FROM sqlite_master")
    return connection
