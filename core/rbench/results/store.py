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
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Self, get_args

from rbench.errors import RbenchError, StartError, UsageError, did_you_mean
from rbench.record import EpisodeRecord, Outcome, Trajectory
from rbench.results.connection import connect, patiently
from rbench.results.hot_journal import needs_rollback, open_past_hot_journal
from rbench.results.lock import WriterLock, holder
from rbench.results.store_errors import damaged_store, stopped, unusable
from rbench.results.tables import SCHEMA, create_tables, recognised_schema, upgrade

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

#: Rows a reader takes in one read transaction: a few milliseconds, so that the writer never waits long.
_BATCH = 256
#: Episodes that are copied in one transaction: a few megabytes of trajectories.
_COPIED_AT_ONCE = 100
#: After an append the file is left alone for this share of the time it took, within limits (s), so that readers get
#: their turn. Episodes come seconds apart, so a run never waits for it; only who copies records does.
_GAP_SHARE, _SHORTEST_GAP, _LONGEST_GAP = 0.2, 0.001, 0.01


class EpisodeStore:
    """Finished episodes on disk. Make one with `create` or `open`; close it, or use it in a `with`."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: WriterLock | None, schema: int = SCHEMA
    ) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        self._schema = schema
        self._gap_ends = 0.0

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
            connection = connect(path, "rw")
            create_tables(connection)
        except sqlite3.Error as problem:
            path.unlink(missing_ok=True)
            lock.release()
            raise StartError(f"cannot write {path}: {problem}; free space there or choose another --out") from problem
        return cls(path, connection, lock)

    @classmethod
    def open(cls, path: Path, readonly: bool = False, *, damaged: bool = False) -> EpisodeStore:
        """An existing store. Read-only: nothing is written or created beside it, ever.

        Args:
            damaged: read-only, and let `query` read what it can of a damaged file.

        Raises:
            UsageError: no such file, or it is not an episode store.
            StartError: written by a newer rbench, unreadable, or another process is writing to it.
        """
        if not path.is_file():
            raise UsageError(f"{path}: no such file; give a run directory that rbench run has written")
        readonly |= damaged
        lock = None if readonly else _locked(path)
        try:
            connection = open_past_hot_journal(path, damaged=damaged) if readonly else connect(path, "rw")
            schema = patiently(lambda: recognised_schema(path, connection))
            if lock is not None:
                upgrade(connection, schema)
                schema = SCHEMA
        except BaseException as problem:
            if lock is not None:
                lock.release()
            if isinstance(problem, (sqlite3.Error, OSError)):
                raise unusable(path, problem) from problem
            raise
        return cls(path, connection, lock, schema)

    @classmethod
    def is_empty(cls, path: Path) -> bool:
        """Whether a file is a store without episodes, also one whose writer was killed before it made the tables."""
        try:
            with closing(open_past_hot_journal(path)) as connection:
                (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables == 0:
                return True
            with cls.open(path, readonly=True) as episodes:
                return episodes.last_position() == 0
        except (RbenchError, sqlite3.Error, OSError):
            return False

    def append(self, record: EpisodeRecord, trajectory: bytes) -> None:
        """Add a finished episode, in one transaction. An infrastructure error may be replaced later.

        Raises:
            StoppedEarly: the episode is there already, or the disk is full or failing; nothing was added.
        """
        row = _row(record.to_plain())
        time.sleep(max(0.0, self._gap_ends - time.monotonic()))
        begin = time.monotonic()
        try:
            self._append(row, trajectory)
        except sqlite3.Error as problem:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise stopped(self.path, record.episode, problem) from problem
        end = time.monotonic()
        self._gap_ends = end + min(max(_SHORTEST_GAP, _GAP_SHARE * (end - begin)), _LONGEST_GAP)

    def _append(self, row: tuple[str | int, ...], trajectory: bytes) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._insert(row, trajectory)
        self._connection.execute("COMMIT")

    def _insert(self, row: tuple[str | int, ...], trajectory: bytes) -> None:
        run = self._connection.execute
        old = run("SELECT position FROM episodes WHERE episode = ? AND outcome = 'infrastructure_error'", row[:1])
        for (position,) in old.fetchall():
            run("DELETE FROM trajectories WHERE position = ?", (position,))
            run("DELETE FROM episodes WHERE position = ?", (position,))
        added = run(
            "INSERT INTO episodes (episode, instance, repeat, dimension, context, outcome, record, crc)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        run("INSERT INTO trajectories VALUES (?, ?, ?)", (added.lastrowid, trajectory, zlib.crc32(trajectory)))

    def append_all(self, episodes: Iterable[tuple[dict[str, Any], bytes]]) -> None:
        """Add finished episodes as `stored` gives them, many in one transaction: for copies, which can be made again.

        Raises:
            StoppedEarly: as `append`.
        """
        waiting = iter(episodes)
        episode = ""
        more = True
        try:
            while more:
                more = False
                self._connection.execute("BEGIN IMMEDIATE")
                for plain, trajectory in islice(waiting, _COPIED_AT_ONCE):
                    episode, more = plain["episode"], True
                    self._insert(_row(plain), trajectory)
                self._connection.execute("COMMIT")
        except sqlite3.Error as problem:
            raise stopped(self.path, episode, problem) from problem
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def stored(self, through: int | None = None) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Every record as plain data, with its trajectory as bytes, in the order they were added.

        Args:
            through: a `last_position`; what was added after it is left out.

        Raises:
            StartError: the store is damaged.
        """
        query = (
            "SELECT episodes.position, episode FROM episodes"
            f" WHERE position > ? AND position <= ? ORDER BY position LIMIT {_COPIED_AT_ONCE}"
        )
        position, end = 0, self.last_position() if through is None else through
        while rows := self._rows(query, position, end):
            for position, episode in rows:  # noqa: B007 - the last position is where the next batch starts
                if (found := self.find(episode)) is not None:
                    yield found

    def find(self, episode: str) -> tuple[dict[str, Any], bytes] | None:
        """One episode as `stored` gives it, or None when it is not there.

        Raises:
            StartError: it is damaged.
        """
        rows = self._rows(f"SELECT position, record, {self.crc} FROM episodes WHERE episode = ?", episode)
        if not rows:
            return None
        ((position, text, crc),) = rows
        blobs = self._rows(f"SELECT trajectory, {self.crc} FROM trajectories WHERE position = ?", position)
        if not blobs:
            raise damaged_store(self.path, f"the trajectory of {episode!r} is missing")
        return self._parsed(episode, text, crc), self._whole(episode, *blobs[0])

    def last_position(self) -> int:
        """Position of the newest episode, 0 when there is none; pass it to `records` for a stable view."""
        return int(self._rows("SELECT coalesce(max(position), 0) FROM episodes")[0][0])

    def records(self, counted_only: bool = False, through: int | None = None) -> Iterator[EpisodeRecord]:
        """Records in the order they were added, read in batches; memory does not grow with the run.

        Args:
            counted_only: leave infrastructure errors out.
            through: a `last_position`; what was added after it is left out.
        """
        for plain in self.plain_records(counted_only, through):
            try:
                record = EpisodeRecord.from_stored(plain)
            except (TypeError, KeyError, AttributeError) as problem:
                raise self._damaged(plain.get("episode"), f"has a field too many or too few: {problem}") from problem
            yield record

    def plain_records(self, counted_only: bool = False, through: int | None = None) -> Iterator[dict[str, Any]]:
        """What `records` gives, as the plain data of `EpisodeRecord.to_plain`; five times as fast.

        Raises:
            StartError: the store is damaged.
        """
        condition = "AND outcome <> 'infrastructure_error'" if counted_only else ""
        query = (
            f"SELECT position, episode, record, {self.crc} FROM episodes WHERE position > ? AND position <= ?"
            f" {condition} ORDER BY position LIMIT {_BATCH}"
        )
        position, end = 0, self.last_position() if through is None else through
        while rows := self._rows(query, position, end):
            for position, episode, text, crc in rows:  # noqa: B007 - the last position is where the next batch starts
                yield self._parsed(episode, text, crc)

    def record(self, episode: str) -> EpisodeRecord:
        """The record of one episode.

        Raises:
            UsageError: no such episode. StartError: it is damaged.
        """
        rows = self._rows(f"SELECT record, {self.crc} FROM episodes WHERE episode = ?", episode)
        if not rows:
            raise self._unknown(episode)
        return EpisodeRecord.from_plain(self._parsed(episode, *rows[0]))

    def trajectory(self, episode: str) -> Trajectory:
        """The trajectory of one episode.

        Raises:
            UsageError: no such episode, or none was recorded. StartError: it is damaged.
        """
        position = "SELECT position FROM episodes WHERE episode = ?"
        rows = self._rows(f"SELECT trajectory, {self.crc} FROM trajectories WHERE position = ({position})", episode)
        if not rows:
            raise self._unknown(episode)
        blob = self._whole(episode, *rows[0])
        try:
            return Trajectory.from_bytes(blob)
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
            if outcome not in OUTCOMES:
                raise damaged_store(self.path, f"outcome {outcome!r} does not exist")
            found.setdefault(dimension, {})[outcome] = count
        return found

    def close(self) -> None:
        """Close the file and let another writer in; doing so twice is fine."""
        if self._lock is not None:
            with suppress(sqlite3.Error):  # closed already, or damaged
                self._connection.execute("PRAGMA journal_mode = DELETE")  # takes the empty journal away
        self._connection.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def query(self, text: str, *values: str | int) -> list[Any]:
        """The rows of any query, as SQLite gives them.

        Raises:
            sqlite3.Error: as SQLite says it. OSError: no room for a copy of the file after its writer was killed.
        """
        try:
            return patiently(lambda: self._connection.execute(text, values).fetchall())
        except sqlite3.OperationalError as problem:
            if not needs_rollback(problem):
                raise
        # The writer was killed in a transaction since this reader opened the file.
        self._connection.close()
        self._connection = open_past_hot_journal(self.path)
        return self._connection.execute(text, values).fetchall()

    def rows(self, text: str, *values: str | int) -> list[Any]:
        """The rows of any query.

        Raises:
            StartError: the store cannot be read.
        """
        return self._rows(text, *values)

    @property
    def crc(self) -> str:
        """The checksum of a row as a term of a query: NULL where it was written without."""
        return "crc" if self._schema > 1 else "NULL"

    def _rows(self, query: str, *values: str | int) -> list[Any]:
        try:
            return self.query(query, *values)
        except (sqlite3.Error, OSError) as problem:
            raise unusable(self.path, problem) from problem

    def _parsed(self, episode: str, text: str, crc: int | None) -> dict[str, Any]:
        if crc is not None and _checksum(text) != crc:
            raise self._damaged(episode, "is not what was written")
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise self._damaged(episode, f"is no JSON: {problem}") from problem
        if not isinstance(plain, dict):
            raise self._damaged(episode, "is no JSON object")
        return plain

    def _whole(self, episode: str, blob: bytes, crc: int | None) -> bytes:
        if crc is not None and zlib.crc32(blob) != crc:
            raise damaged_store(self.path, f"the trajectory of {episode!r} is not what was written")
        return blob

    def _damaged(self, episode: object, what: str) -> StartError:
        return damaged_store(self.path, f"the record of {episode!r} {what}")

    def _unknown(self, episode: str) -> UsageError:
        known = [str(r[0]) for r in self._rows("SELECT episode FROM episodes ORDER BY position LIMIT 20000")]
        hint = did_you_mean(episode, known)
        return UsageError(f"no episode {episode!r} in {self.path.parent}.{hint} rbench export lists them all")


def lock_path(store: Path) -> Path:
    """The file that the writer of a store keeps locked."""
    return store.with_suffix(".lock")


def _row(plain: dict[str, Any]) -> tuple[str | int, ...]:
    text = json.dumps(plain, allow_nan=False, separators=(",", ":"))
    columns = tuple(plain[name] for name in ("episode", "instance", "repeat", "dimension", "context", "outcome"))
    return (*columns, text, _checksum(text))


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode())


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
