"""Looking at every byte of a store: what is whole, what is not, and a copy of what is whole."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rbench.record import EpisodeRecord, Trajectory
from rbench.results.run_directory import RunDirectory
from rbench.results.store import EpisodeStore

#: Complaints of SQLite about the whole file that are passed on.
_MOST_COMPLAINTS = 5
#: So many positions without an episode in a row end the search: the highest position may be unreadable, or damaged.
_LONGEST_GAP = 50_000

_COLUMNS = ("episode", "instance", "repeat", "dimension", "context", "outcome")


@dataclass(frozen=True)
class WholeEpisode:
    """An episode of which every byte is what was written."""

    record: EpisodeRecord
    trajectory: bytes


@dataclass(frozen=True)
class DamagedEpisode:
    """An episode of which something is missing or not what was written.

    Attributes:
        position: its place in the store.
        episode: its id, when that can be read.
    """

    position: int
    episode: str | None
    problem: str

    def __str__(self) -> str:
        return f"{self.episode or f'the episode at position {self.position}'}: {self.problem}"


def inspect_store(store: EpisodeStore) -> Iterator[WholeEpisode | DamagedEpisode]:
    """Every episode in the order they were added; what cannot be read at all is named by its position."""
    # Position by position, never a walk over a table: its way may lead through a damaged page.
    last = _last_position(store)
    seen: set[str] = set()
    position = gap = 0
    while gap < _LONGEST_GAP and (last is None or position < last):
        position += 1
        gap += 1
        found = _looked_at(store, position)
        if isinstance(found, WholeEpisode):
            gap = 0
            if found.record.episode in seen:
                found = DamagedEpisode(position, found.record.episode, "it is there twice")
            else:
                seen.add(found.record.episode)
        elif found is None or (found.episode is None and last is None):
            continue  # nothing there, or nobody knows whether anything is
        yield found


def complaints(store: EpisodeStore) -> list[str]:
    """What SQLite finds wrong with the file as a whole."""
    found = []
    for check in ("integrity_check", "foreign_key_check"):
        try:
            rows = store.query(f"PRAGMA {check}")
        except sqlite3.Error as problem:
            rows = [(str(problem),)]
        found += [f"{check}: {' '.join(map(str, row))}" for row in rows if row != ("ok",)]
    more = len(found) - _MOST_COMPLAINTS
    return [*found[:_MOST_COMPLAINTS], f"and {more} more of these"] if more > 0 else found


def salvage(run: RunDirectory, target: Path) -> int:
    """Copy the whole episodes of a run to a new run directory that `rbench resume` completes.

    Returns:
        The number of episodes copied.

    Raises:
        UsageError: the target holds something. StartError: it cannot be written. StoppedEarly: the disk is full.
    """
    count = 0
    with (
        run.store(damaged=True) as store,
        RunDirectory.create(target, replace(run.manifest, state="interrupted")) as copy,
    ):
        for found in inspect_store(store):
            if isinstance(found, WholeEpisode):
                copy.store().append(found.record, found.trajectory)
                count += 1
    return count


def _last_position(store: EpisodeStore) -> int | None:
    for query in ("SELECT seq FROM sqlite_sequence WHERE name = 'episodes'", "SELECT max(position) FROM episodes"):
        try:
            rows = store.query(query)
        except sqlite3.Error:
            continue
        if rows and isinstance(rows[0][0], int):
            return rows[0][0]
    return None


def _looked_at(store: EpisodeStore, position: int) -> WholeEpisode | DamagedEpisode | None:
    name = None
    query = f"SELECT {', '.join(_COLUMNS)}, record, {store.crc} FROM episodes WHERE position = ?"
    try:
        rows = store.query(query, position)
        if not rows:
            return None
        *columns, text, crc = rows[0]
        name = str(columns[0])
        blobs = store.query(f"SELECT trajectory, {store.crc} FROM trajectories WHERE position = ?", position)
    except sqlite3.Error as problem:
        return DamagedEpisode(position, name, f"it cannot be read: {problem}")
    try:
        record = _record(text, crc)
        for column, value in zip(_COLUMNS, columns, strict=True):
            if getattr(record, column) != value:
                raise ValueError(f"column {column} says {value!r} and its record {getattr(record, column)!r}")
        if not blobs:
            raise ValueError("it has no trajectory")
        trajectory = _trajectory(record, *blobs[0])
    except ValueError as problem:
        return DamagedEpisode(position, name, str(problem))
    return WholeEpisode(record, trajectory)


def _record(text: str, crc: int | None) -> EpisodeRecord:
    if crc is not None and zlib.crc32(text.encode(errors="replace")) != crc:
        raise ValueError("its record is not what was written")
    try:
        record = EpisodeRecord.from_plain(json.loads(text))
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"its record cannot be read: {problem}") from problem
    if record.episode != f"{record.instance}#{record.repeat}":
        raise ValueError(f"its record is of instance {record.instance!r}, repeat {record.repeat}")
    if record.success != (record.outcome == "success"):
        raise ValueError(f"its record says success {record.success} and outcome {record.outcome}")
    return record


def _trajectory(record: EpisodeRecord, blob: bytes, crc: int | None) -> bytes:
    if crc is not None and zlib.crc32(blob) != crc:
        raise ValueError("its trajectory is not what was written")
    if not blob:
        if record.steps:
            raise ValueError(f"it has {record.steps} steps and no trajectory")
        return blob
    try:
        trajectory = Trajectory.from_bytes(blob)
    except Exception as problem:  # without a checksum anything may come out of a damaged archive
        raise ValueError(f"its trajectory cannot be read: {problem}") from problem
    if len(trajectory.commands) != record.steps or len(trajectory.time) != record.steps + 1:
        raise ValueError(f"it has {record.steps} steps and a trajectory of {len(trajectory.commands)}")
    return blob
