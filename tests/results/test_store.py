"""The episode store: what goes in comes out, once, in order."""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbench.errors import StartError, StoppedEarly, UsageError
from rbench.record import EpisodeRecord, Trajectory, identical
from rbench.results.store import SCHEMA, EpisodeStore

Record = Callable[..., EpisodeRecord]


def test_records_come_back_equal_and_in_the_order_they_were_added(store: EpisodeStore, record: Record) -> None:
    added = [record(i) for i in (3, 1, 2)]
    for one in added:
        store.append(one, b"")
    assert list(store.records()) == added
    assert store.record(added[0].episode) == added[0]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rbench.results.store._BATCH", 3)


@pytest.mark.parametrize("count", [0, 2, 3, 4, 6])
def test_records_come_back_whole_over_several_batches(
    store: EpisodeStore, record: Record, small_batches: None, count: int
) -> None:
    for i in range(count):
        store.append(record(i), b"")
    assert [r.repeat for r in store.records()] == list(range(count))


def test_trajectory_comes_back_equal(store: EpisodeStore, record: Record) -> None:
    n = 4
    trajectory = Trajectory(
        control_rate=20,
        time=np.arange(n) / 20,
        joint_positions=np.ones((n, 7), np.float32),
        joint_velocities=np.zeros((n, 7), np.float32),
        gripper=np.zeros(n, np.float32),
        end_effector=np.ones((n, 7), np.float32),
        commands=np.full((n - 1, 8), 0.1),
        bodies={"geometry": np.zeros((n, 7), np.float32)},
        contact_pairs=("geometry|box",),
        contacts=np.array([[False], [True], [True], [False]]),
    )
    store.append(record(0), trajectory.to_bytes())
    back = store.trajectory("color/red/position-p2#0")
    assert np.array_equal(back.commands, trajectory.commands)
    assert np.array_equal(back.contacts, trajectory.contacts)
    assert back.contact_pairs == trajectory.contact_pairs


@pytest.mark.parametrize("blob", [b"", b"PK\x03\x04 cut off", b"nonsense"])
def test_missing_or_damaged_trajectory_is_said_by_name(store: EpisodeStore, record: Record, blob: bytes) -> None:
    store.append(record(0), blob)
    with pytest.raises(UsageError, match=r"color/red/position-p2#0.*no readable trajectory"):
        store.trajectory("color/red/position-p2#0")


@pytest.mark.parametrize("outcome", ["success", "failure", "agent_error", "unstable"])
def test_a_finished_episode_is_never_replaced(store: EpisodeStore, record: Record, outcome: str) -> None:
    store.append(record(0, outcome), b"first")
    with pytest.raises(StoppedEarly, match=r"color/red/position-p2#0.*was not replaced"):
        store.append(record(0), b"second")
    assert [r.outcome for r in store.records()] == [outcome]
    store.append(record(1), b"")  # and the store goes on


def test_an_infrastructure_error_is_replaced_by_the_next_attempt(store: EpisodeStore, record: Record) -> None:
    store.append(record(0, "infrastructure_error"), b"")
    store.append(record(1), b"")
    store.append(record(0, "infrastructure_error"), b"")
    assert store.finished() == {"color/red/position-p2#1"}
    store.append(record(0), b"")
    assert [r.repeat for r in store.records()] == [1, 0]
    assert store.finished() == {"color/red/position-p2#0", "color/red/position-p2#1"}


def test_counts_have_every_outcome(store: EpisodeStore, record: Record) -> None:
    for i, outcome in enumerate(["success", "success", "agent_error", "infrastructure_error"]):
        store.append(record(i, outcome, dimension="color" if i else "distance"), b"")
    assert store.counts() == {
        "success": 2,
        "failure": 0,
        "agent_error": 1,
        "unstable": 0,
        "infrastructure_error": 1,
    }
    assert store.counts_by_dimension() == {
        "distance": {"success": 1},
        "color": {"success": 1, "agent_error": 1, "infrastructure_error": 1},
    }


def test_counted_only_leaves_infrastructure_errors_out(store: EpisodeStore, record: Record) -> None:
    store.append(record(0, "infrastructure_error"), b"")
    store.append(record(1, "agent_error"), b"")
    assert [r.repeat for r in store.records(counted_only=True)] == [1]


def test_a_view_through_a_position_does_not_see_later_episodes(store: EpisodeStore, record: Record) -> None:
    store.append(record(0, "infrastructure_error"), b"")
    store.append(record(1), b"")
    end = store.last_position()
    store.append(record(0), b"")
    store.append(record(2), b"")
    assert [r.repeat for r in store.records(through=end)] == [1]
    assert store.counts_by_dimension(through=end) == {"color": {"success": 1}}


def test_reading_goes_on_while_episodes_are_added(store: EpisodeStore, record: Record, small_batches: None) -> None:
    for i in range(8):
        store.append(record(i), b"")
    with EpisodeStore.open(store.path, readonly=True) as reader:
        records = reader.records()
        first = next(records)
        store.append(record(8), b"")
        assert [first.repeat, *(r.repeat for r in records)] == list(range(8))


def test_undefined_numbers_become_null_and_odd_text_survives(store: EpisodeStore, record: Record) -> None:
    store.append(record(0, score=math.nan, error="broken \udc80 byte \u2028 line"), b"")
    connection = sqlite3.connect(store.path)
    (text,) = connection.execute("SELECT record FROM episodes").fetchone()
    connection.close()
    assert '"score":null' in text
    assert "NaN" not in text
    assert "\\udc80" in text


def test_error_text_comes_back(store: EpisodeStore, record: Record) -> None:
    store.append(record(0, error="broken \udc80 byte"), b"")
    assert store.record("color/red/position-p2#0").error == "broken \udc80 byte"


def test_unknown_episode_is_named_with_near_ones(store: EpisodeStore, record: Record) -> None:
    store.append(record(0), b"")
    for read in (store.record, store.trajectory):
        with pytest.raises(UsageError, match=r"color/red/position-p1#0.*Did you mean 'color/red/position-p2#0'"):
            read("color/red/position-p1#0")


def test_a_second_writer_is_refused_and_readers_are_not(store: EpisodeStore, record: Record) -> None:
    with pytest.raises(StartError, match="being written by process"):
        EpisodeStore.open(store.path)
    store.append(record(0), b"")
    with EpisodeStore.open(store.path, readonly=True) as reader:
        assert len(reader.finished()) == 1
    store.close()
    with EpisodeStore.open(store.path) as next_writer:
        next_writer.append(record(1), b"")


def test_reading_only_cannot_write(store: EpisodeStore, record: Record) -> None:
    with EpisodeStore.open(store.path, readonly=True) as reader, pytest.raises(StoppedEarly, match="make it writable"):
        reader.append(record(0), b"")


def test_an_existing_store_is_not_overwritten(store: EpisodeStore) -> None:
    with pytest.raises(UsageError, match=r"episodes\.sqlite exists already"):
        EpisodeStore.create(store.path)


def test_a_store_in_a_missing_folder_cannot_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"cannot write .*nowhere"):
        EpisodeStore.create(tmp_path / "nowhere" / "episodes.sqlite")


@pytest.mark.parametrize("readonly", [True, False])
class TestOpeningWhatIsNoStore:
    def test_newer_schema_is_refused_by_number(self, store: EpisodeStore, readonly: bool) -> None:
        store.close()
        with sqlite3.connect(store.path) as connection:
            connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
        connection.close()
        with pytest.raises(StartError, match=rf"newer rbench \(store schema {SCHEMA + 1}.*pip install -U rbench"):
            EpisodeStore.open(store.path, readonly=readonly)

    def test_missing_file(self, tmp_path: Path, readonly: bool) -> None:
        with pytest.raises(UsageError, match="no such file"):
            EpisodeStore.open(tmp_path / "episodes.sqlite", readonly=readonly)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("content", [b"", b"this is no database, but it is long enough to look at" * 20])
    def test_another_file(self, tmp_path: Path, readonly: bool, content: bytes) -> None:
        path = tmp_path / "episodes.sqlite"
        path.write_bytes(content)
        with pytest.raises(UsageError, match="is not an episode store"):
            EpisodeStore.open(path, readonly=readonly)
        assert path.read_bytes() == content

    def test_another_database(self, tmp_path: Path, readonly: bool) -> None:
        path = tmp_path / "episodes.sqlite"
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE other (x)")
        connection.close()
        with pytest.raises(UsageError, match="is not an episode store"):
            EpisodeStore.open(path, readonly=readonly)


def test_closing_twice_is_fine(store: EpisodeStore) -> None:
    store.close()
    store.close()


def test_identical_records_differ_in_timing_only_after_a_round_trip(store: EpisodeStore, record: Record) -> None:
    store.append(record(0), b"")
    back = store.record("color/red/position-p2#0")
    assert identical(back, replace(record(0), timing={"act": 9.0}))


@pytest.mark.parametrize("change", ["short", "dtype", "shape", "name", "empty", "deep"])
def test_a_trajectory_that_says_what_is_not_so_is_refused(recording: Callable[..., bytes], change: str) -> None:
    magic, _, packed = recording(3).partition(b"\n")
    line, _, numbers = zlib.decompress(packed).partition(b"\n")
    header = json.loads(line)
    if change == "dtype":
        header["arrays"][0][1] = "|O"
    elif change == "shape":
        header["arrays"][0][2] = [10**9]
    elif change == "name":
        header["arrays"][0][0] = "times"
    line = {"empty": b"[]", "deep": b"[" * 100_000}.get(change, json.dumps(header).encode())
    content = zlib.compress(line + b"\n" + numbers)
    with pytest.raises(ValueError, match="not a trajectory"):
        Trajectory.from_bytes(magic + b"\n" + (content[:-9] if change == "short" else content))
