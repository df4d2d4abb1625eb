"""What went wrong with an episode store, in words that end with what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from rbench.errors import StartError, StoppedEarly, UsageError
from rbench.results.connection import error_name


def unusable(path: Path, problem: sqlite3.Error | OSError) -> StartError | UsageError:
    """The store cannot be read."""
    name = error_name(problem)
    if name == "SQLITE_NOTADB":
        return UsageError(f"{path} is not an episode store; give a run directory that rbench run has written")
    # What is not text where text must be is no error of SQLite's, but of the module's.
    if name.startswith("SQLITE_CORRUPT") or "decode to UTF-8" in str(problem):
        return damaged_store(path, str(problem))
    return StartError(
        f"cannot read {path}: {problem}; check its permissions, the disk, and that nothing keeps it locked"
    )


def damaged_store(path: Path, what: str) -> StartError:
    """Something in the store is not what was written."""
    return StartError(
        f"{path} is damaged ({what}). `rbench verify {path.parent}` says which episodes are whole, and with"
        " --salvage NEW copies them to a new run directory that `rbench resume NEW` completes"
    )


def stopped(path: Path, episode: str, problem: sqlite3.Error) -> StoppedEarly:
    """An episode could not be added."""
    name = error_name(problem)
    kept = "the episodes before this one are kept"
    if name.startswith("SQLITE_CONSTRAINT"):
        return StoppedEarly(
            f"episode {episode!r} is already in {path} and was not replaced; stop the other process that runs the"
            f" same episodes: {kept}"
        )
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return StoppedEarly(f"cannot write {path}: {problem}; free space on that disk or repair it: {kept}")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoppedEarly(f"cannot write {path}: another program keeps it locked; close that program: {kept}")
    if name.startswith("SQLITE_CORRUPT"):
        return StoppedEarly(
            f"cannot write {path}: it is damaged ({problem}); `rbench verify {path.parent} --salvage NEW` copies the"
            " whole episodes to a new run directory that `rbench resume NEW` completes"
        )
    return StoppedEarly(f"cannot write {path}: {problem}; make it writable: {kept}")
