"""Stores of other schemas: an older one is read as it is and upgraded by its next writer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.errors import StartError
from rbench.record import EpisodeRecord
from rbench.results.inspection import WholeEpisode, inspect_store
from rbench.results.store import SCHEMA, EpisodeStore
from rbench.results.tables import APPLICATION_ID

Record = Callable[..., EpisodeRecord]

#: As the first release made it.
SCHEMA_1 = f"""
PRAGMA application_id = {APPLICATION_ID};
CREATE TABLE episodes (
    position INTEGER PRIMARY KEY AUTOINCREMENT, episode TEXT NOT NULL UNIQUE, instance TEXT NOT NULL,
    repeat INTEGER NOT NULL, dimension TEXT NOT NULL, context TEXT NOT NULL, outcome TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE TABLE trajectories (position INTEGER PRIMARY KEY REFERENCES episodes (position), trajectory BLOB NOT NULL);
CREATE INDEX episodes_by_dimension ON episodes (dimension, outcome);
PRAGMA user_version = 1;
"""


@pytest.fixture
def older(tmp_path: Path, record: Record) -> Path:
    path = tmp_path / "episodes.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA_1)
    old = record(0, steps=0)
    row = (old.episode, old.instance, 0, old.dimension, old.context, old.outcome, json.dumps(old.to_plain()))
    connection.execute("INSERT INTO episodes VALUES (1, ?, ?, ?, ?, ?, ?, ?)", row)
    connection.execute("INSERT INTO trajectories VALUES (1, x'')")
    connection.commit()
    connection.close()
    return path


def user_version(path: Path) -> int:
    connection = sqlite3.connect(path)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(version)


def test_an_older_store_is_read_and_not_changed(older: Path, record: Record) -> None:
    before = older.read_bytes()
    with EpisodeStore.open(older, readonly=True) as store:
        assert list(store.records()) == [record(0, steps=0)]
        assert store.record("color/red/position-p2#0") == record(0, steps=0)
        assert [type(found) for found in inspect_store(store)] == [WholeEpisode]
    assert older.read_bytes() == before


def test_the_next_writer_upgrades_an_older_store(older: Path, record: Record) -> None:
    with EpisodeStore.open(older) as store:
        store.append(record(1, steps=0), b"")
    assert user_version(older) == SCHEMA
    with EpisodeStore.open(older, readonly=True) as store:
        assert [r.repeat for r in store.records()] == [0, 1]
        assert len([found for found in inspect_store(store) if isinstance(found, WholeEpisode)]) == 2


def test_a_reader_goes_on_while_a_writer_upgrades(older: Path, record: Record) -> None:
    with EpisodeStore.open(older, readonly=True) as reader, EpisodeStore.open(older) as writer:
        writer.append(record(1, steps=0), b"")
        assert [r.repeat for r in reader.records()] == [0, 1]


@pytest.mark.parametrize("readonly", [True, False])
def test_a_newer_store_is_left_alone(older: Path, readonly: bool) -> None:
    connection = sqlite3.connect(older)
    connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    connection.close()
    before = older.read_bytes()
    with pytest.raises(StartError, match=r"newer rbench.*pip install -U rbench"):
        EpisodeStore.open(older, readonly=readonly)
    assert older.read_bytes() == before
