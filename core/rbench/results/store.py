"""The episode store: one SQLite file, one transaction an episode, one writer, any number of readers.

Rollback journal, not write-ahead log: readers may then open the file with nothing but read permission
and leave no files behind, run directories work on network file systems, and a run is one file to copy.
The price, that a reader and the writer exclude each other, is small: an append takes milliseconds and
readers take rows in short batches. `synchronous = FULL`: what was appended survives `kill -9` and, but
for the last episode, loss of power.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, get_args

from rbench.errors import StartError, StoppedEarly, UsageError, did_you_mean
from rbench.record import EpisodeRecord, Outcome, Trajectory
from rbench.results.hot_journal import open_past_hot_journal
from rbench.results.lock import WriterLock, holder

SCHEMA = 1
#: Marks the file as ours: "rbch" in ASCII.
APPLICATION_ID = 0x72626368
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

#: Seconds that a reader or the writer waits for the other.
_PATIENCE = 60.0
#: Rows a reader takes in one read transaction: a few milliseconds, so that the writer never waits long.
_BATCH = 256

# Trajectories have a table of their own, so that walking over records never touches their pages.
# Positions are never used twice, so that a reader who pages by position misses no replaced episode.
_TABLES = """
CREATE TABLE episodes (
    position  INTEGER PRIMARY KEY AUTOINCREMENT,
    episode   TEXT NOT NULL UNIQUE,
    instance  TEXT NOT NULL,
    repeat    INTEGER NOT NULL,
    dimension TEXT NOT NULL,
    context   TEXT NOT NULL,
    outcome   TEXT NOT NULL,
    record    TEXT NOT NULL
);
CREATE TABLE trajectories (
    position   INTEGER PRIMARY KEY REFERENCES episodes (position),
    trajectory BLOB NOT NULL
);
CREATE INDEX episodes_by_dimension ON episodes (dimension, outcome);
"""


class EpisodeStore:
    """Finished episodes on disk. Make one with `create` or `open`; close it, or use it in a `with`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: WriterLock | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock

    @classmethod
    def create(cls, path: Path) -> EpisodeStore:
        """A new, empty store.

        Raises:
            UsageError: the file exists. StartError: it cannot be written.
        """
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            raise UsageError(f"{path} exists already; choose another --out") from None
        except OSError as problem:
            raise StartError(f"cannot write {path}: {problem.strerror}; choose another --out") from problem
        lock = _locked(path)
        try:
            connection = _connect(path, "rw")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.executescript(f"BEGIN;{_TABLES}PRAGMA user_version = {SCHEMA};COMMIT;")
        except sqlite3.Error as problem:
            lock.release()
            raise StartError(f"cannot write {path}: {problem}; free space there or choose another --out") from problem
        return cls(path, connection, lock)

    @classmethod
    def open(cls, path: Path, readonly: bool = False) -> EpisodeStore:
        """An existing store. Read-only: nothing is written or created beside it, ever.

        Raises:
            UsageError: no such file, or it is not an episode store.
            StartError: written by a newer rbench, unreadable, or another process is writing to it.
        """
        if not path.is_file():
            raise UsageError(f"{path}: no such file; give a run directory that rbench run has written")
        lock = None if readonly else _locked(path)
        try:
            connection = open_past_hot_journal(path, _connect) if readonly else _connect(path, "rw")
            _check(path, connection)
        except BaseException as problem:
            if lock is not None:
                lock.release()
            if isinstance(problem, (sqlite3.Error, OSError)):
                raise _unusable(path, problem) from problem
            raise
        return cls(path, connection, lock)

    def append(self, record: EpisodeRecord, trajectory: bytes) -> None:
        """Add a finished episode, in one transaction. An infrastructure error may be replaced later.

        Raises:
            StoppedEarly: the episode is there already, or the disk is full or failing; nothing was added.
        """
        row = (
            record.episode,
            record.instance,
            record.repeat,
            record.dimension,
            record.context,
            record.outcome,
            json.dumps(record.to_plain(), allow_nan=False, separators=(",", ":")),
        )
        try:
            self._append(row, trajectory)
        except sqlite3.Error as problem:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise _stopped(self.path, record.episode, problem) from problem

    def _append(self, row: tuple[str | int, ...], trajectory: bytes) -> None:
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        old = run("SELECT position FROM episodes WHERE episode = ? AND outcome = 'infrastructure_error'", row[:1])
        for (position,) in old.fetchall():
            run("DELETE FROM trajectories WHERE position = ?", (position,))
            run("DELETE FROM episodes WHERE position = ?", (position,))
        added = run(
            "INSERT INTO episodes (episode, instance, repeat, dimension, context, outcome, record)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        run("INSERT INTO trajectories VALUES (?, ?)", (added.lastrowid, trajectory))
        run("COMMIT")

    def last_position(self) -> int:
        """Position of the newest episode, 0 when there is none; pass it to `records` for a stable view."""
        return int(self._rows("SELECT coalesce(max(position), 0) FROM episodes")[0][0])

    def records(self, counted_only: bool = False, through: int | None = None) -> Iterator[EpisodeRecord]:
        """Records in the order they were added, read in batches; memory does not grow with the run.

        Args:
            counted_only: leave infrastructure errors out.
            through: a `last_position`; what was added after it is left out.
        """
        condition = "AND outcome <> 'infrastructure_error'" if counted_only else ""
        query = f"SELECT position, record FROM episodes WHERE position > ? AND position <= ? {condition}"
        position, end = 0, self.last_position() if through is None else through
        while rows := self._rows(f"{query} ORDER BY position LIMIT {_BATCH}", position, end):
            for position, text in rows:  # noqa: B007 - the last position is where the next batch starts
                yield EpisodeRecord.from_stored(json.loads(text))

    def record(self, episode: str) -> EpisodeRecord:
        """The record of one episode.

        Raises:
            UsageError: no such episode.
        """
        rows = self._rows("SELECT record FROM episodes WHERE episode = ?", episode)
        if not rows:
            raise self._unknown(episode)
        return EpisodeRecord.from_plain(json.loads(rows[0][0]))

    def trajectory(self, episode: str) -> Trajectory:
        """The trajectory of one episode.

        Raises:
            UsageError: no such episode, or none was recorded.
        """
        rows = self._rows("SELECT trajectory FROM trajectories NATURAL JOIN episodes WHERE episode = ?", episode)
        if not rows:
            raise self._unknown(episode)
        try:
            return Trajectory.from_bytes(rows[0][0])
        except ValueError as problem:
            raise UsageError(
                f"episode {episode!r} has no readable trajectory: it ended before its scene was built,"
                " or the file is damaged; choose another episode"
            ) from problem

    def finished(self) -> set[str]:
        """Ids of the episodes that need not run again: all but infrastructure errors."""
        return {r[0] for r in self._rows("SELECT episode FROM episodes WHERE outcome <> 'infrastructure_error'")}

    def is_finished(self, episode: str) -> bool:
        """Whether an episode need not run again."""
        query = "SELECT 1 FROM episodes WHERE episode = ? AND outcome <> 'infrastructure_error'"
        return bool(self._rows(query, episode))

    def counts(self) -> dict[Outcome, int]:
        """Episodes by outcome; every outcome has a key."""
        found = dict(self._rows("SELECT outcome, count(*) FROM episodes GROUP BY outcome"))
        return {outcome: found.get(outcome, 0) for outcome in OUTCOMES}

    def counts_by_dimension(self, through: int | None = None) -> dict[str, dict[Outcome, int]]:
        """Episodes by dimension and outcome; what has none has no key.

        Args:
            through: a `last_position`; what was added after it is left out.
        """
        end = self.last_position() if through is None else through
        query = "SELECT dimension, outcome, count(*) FROM episodes WHERE position <= ? GROUP BY dimension, outcome"
        found: dict[str, dict[Outcome, int]] = {}
        for dimension, outcome, count in self._rows(query, end):
            found.setdefault(dimension, {})[outcome] = count
        return found

    def close(self) -> None:
        """Close the file and let another writer in; doing so twice is fine."""
        self._connection.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, query: str, *values: str | int) -> list[Any]:
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as problem:
            raise _unusable(self.path, problem) from problem

    def _unknown(self, episode: str) -> UsageError:
        known = [str(r[0]) for r in self._rows("SELECT episode FROM episodes ORDER BY position LIMIT 20000")]
        hint = did_you_mean(episode, known)
        return UsageError(f"no episode {episode!r} in {self.path.parent}.{hint} rbench export lists them all")


def lock_path(store: Path) -> Path:
    """The file that the writer of a store keeps locked."""
    return store.with_suffix(".lock")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_PATIENCE, isolation_level=None
    )
    if mode == "rw":
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _locked(path: Path) -> WriterLock:
    lock = WriterLock(lock_path(path))
    try:
        free = lock.acquire()
    except OSError as problem:
        raise StartError(f"cannot write beside {path}: {problem.strerror}; make the folder writable") from problem
    if not free:
        pid = holder(lock.path)
        who = "another process" if pid is None else f"process {pid}"
        raise StartError(f"{path.parent} is being written by {who}; wait for it, or stop it, then try again")
    return lock


def _check(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise UsageError(f"{path} is not an episode store; give a run directory that rbench run has written")
    if schema > SCHEMA:
        raise StartError(
            f"{path} was written by a newer rbench (store schema {schema}; this one reads up to {SCHEMA});"
            " upgrade it: pip install -U rbench"
        )


def _unusable(path: Path, problem: sqlite3.Error | OSError) -> StartError | UsageError:
    if getattr(problem, "sqlite_errorname", "") == "SQLITE_NOTADB":
        return UsageError(f"{path} is not an episode store; give a run directory that rbench run has written")
    return StartError(
        f"cannot read {path}: {problem}; check its permissions, the disk, and that nothing keeps it locked"
    )


def _stopped(path: Path, episode: str, problem: sqlite3.Error) -> StoppedEarly:
    name = problem.sqlite_errorname
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
    return StoppedEarly(f"cannot write {path}: {problem}; make it writable: {kept}")
