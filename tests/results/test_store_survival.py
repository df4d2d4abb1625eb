"""The episode store when things go wrong: kill -9, half a transaction, a full disk."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rbench.errors import UsageError
from rbench.record import EpisodeRecord
from rbench.results.manifest import Manifest
from rbench.results.run_directory import RunDirectory, open_run
from rbench.results.store import EpisodeStore

WRITER = """
import os, resource, sys, time
from dataclasses import replace
from pathlib import Path
from rbench.errors import StoppedEarly
from rbench.results.run_directory import open_run

run = open_run(sys.argv[1])
store = run.store()
limit, pause = int(sys.argv[2]), float(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
model = store.record("color/red/position-p2#0")
print("ready", flush=True)
for repeat in range(len(store.finished()), 100000):
    try:
        store.append(replace(model, episode=f"color/red/position-p2#{repeat}", repeat=repeat), os.urandom(30000))
    except StoppedEarly as problem:
        print(problem, flush=True)
        sys.exit(problem.exit_code)
    print(repeat, flush=True)
    time.sleep(pause)
"""


@pytest.fixture
def seeded_run(run_directory: RunDirectory, record: Callable[..., EpisodeRecord]) -> Path:
    """A run directory with one episode and no writer."""
    run_directory.store().append(record(0), b"")
    run_directory.close()
    return run_directory.path


@pytest.fixture
def writer(seeded_run: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that adds episodes and prints the number of each after it was added."""
    started: list[subprocess.Popen[str]] = []

    def start(file_size_limit: int = 0, pause: float = 0.0) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(seeded_run), str(file_size_limit), str(pause)],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_state_of_a_killed_run_is_interrupted(writer: Callable[..., subprocess.Popen[str]], seeded_run: Path) -> None:
    process = writer()
    assert open_run(seeded_run).state == "running"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert open_run(seeded_run).state == "interrupted"
    assert open_run(seeded_run).manifest.state == "running"


def test_a_run_is_read_while_another_process_writes_it(
    writer: Callable[..., subprocess.Popen[str]], seeded_run: Path
) -> None:
    process = writer(pause=0.02)
    seen: list[int] = []
    while len(seen) < 10 or seen[-1] == seen[0]:
        run = open_run(seeded_run)
        repeats = [r.repeat for r in run.episodes()]
        assert repeats == list(range(len(repeats)))
        seen.append(run.counts()["success"])
    assert process.poll() is None
    assert seen == sorted(seen)


def test_full_disk_stops_the_run_with_the_path_and_keeps_the_rest(
    writer: Callable[..., subprocess.Popen[str]], seeded_run: Path
) -> None:
    process = writer(file_size_limit=400_000)
    assert process.stdout is not None
    *numbers, message = process.stdout.read().splitlines()
    assert process.wait() == 4
    assert str(seeded_run / "episodes.sqlite") in message
    assert "free space" in message
    run = open_run(seeded_run)
    assert [r.repeat for r in run.episodes()] == list(range(len(numbers) + 1))
    with run.store() as store:  # and it goes on when there is room
        assert len(store.finished()) == len(numbers) + 1


@pytest.fixture
def half_transaction(seeded_run: Path, tmp_path: Path) -> Path:
    """The run as a kill in the middle of a transaction leaves it: a hot journal beside changed pages."""
    path = seeded_run / "episodes.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")  # pages spill to the file before the commit
    connection.execute("BEGIN IMMEDIATE")
    for position in range(100, 140):
        connection.execute("INSERT INTO trajectories VALUES (?, ?, 0)", (position, os.urandom(30000)))
    connection.execute("UPDATE episodes SET repeat = 99")
    killed = tmp_path / "killed"
    shutil.copytree(seeded_run, killed)
    connection.execute("ROLLBACK")
    connection.close()
    assert (killed / "episodes.sqlite-journal").stat().st_size > 0
    return killed


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file()}


def test_reading_never_writes(seeded_run: Path) -> None:
    before = contents(seeded_run)
    run = open_run(seeded_run)
    assert (len(list(run.episodes())), run.counts()["done"], run.state) == (1, 1, "interrupted")
    assert contents(seeded_run) == before


def test_half_a_transaction_is_read_as_if_it_had_not_begun(half_transaction: Path) -> None:
    before = contents(half_transaction)
    with open_run(half_transaction).store(readonly=True) as store:
        assert [r.repeat for r in store.records()] == [0]
        with pytest.raises(UsageError, match="no readable trajectory"):
            store.trajectory("color/red/position-p2#0")
    assert contents(half_transaction) == before


def test_the_next_writer_rolls_half_a_transaction_back(
    half_transaction: Path, record: Callable[..., EpisodeRecord]
) -> None:
    with open_run(half_transaction) as run:
        run.store().append(record(1), b"")
    assert [r.repeat for r in open_run(half_transaction).episodes()] == [0, 1]
    assert not (half_transaction / "episodes.sqlite-journal").exists()


def test_a_path_with_odd_characters_works(
    tmp_path: Path, manifest: Callable[..., Manifest], record: Callable[..., EpisodeRecord]
) -> None:
    odd = tmp_path / "a b?c#d%20ü"
    with RunDirectory.create(odd, manifest()) as run:
        run.store().append(record(0), b"")
    with EpisodeStore.open(odd / "episodes.sqlite", readonly=True) as store:
        assert len(store.finished()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == [odd.name]
