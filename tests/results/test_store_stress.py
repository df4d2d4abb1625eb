"""The episode store under stress: many kills, many readers, many writers, full and read-only disks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rbench.errors import StartError, StoppedEarly
from rbench.record import EpisodeRecord
from rbench.results.inspection import WholeEpisode, complaints, inspect_store
from rbench.results.manifest import Manifest
from rbench.results.run_directory import RunDirectory, open_run

Record = Callable[..., EpisodeRecord]

#: Adds episodes without a pause; prints the number of each once it is on disk. A new one is forked for every line of
#: its input, because starting Python takes longer than thirty kills.
NURSERY = """
import os, sys
from dataclasses import replace
from rbench.results.run_directory import open_run

def write():
    store = open_run(sys.argv[1]).store()
    model = next(store.records())
    for repeat in range(len(store.finished()), 100000):
        store.append(replace(model, episode=f"color/red/position-p2#{repeat}", repeat=repeat), os.urandom(60000))
        os.write(1, f"{repeat}\\n".encode())

for line in sys.stdin:
    child = os.fork()
    if not child:
        try:
            write()
        finally:
            os._exit(1)
    os.write(1, f"pid {child}\\n".encode())
    os.waitpid(child, 0)
    os.write(1, b"end\\n")
"""

#: Waits for its turn to be the writer, then adds 20 episodes of 300 kB.
IN_TURNS = """
import os, sys, time
from dataclasses import replace
from rbench.errors import StartError
from rbench.results.run_directory import open_run

run = open_run(sys.argv[1])
model = next(run.episodes())
while True:
    try:
        store = run.store()
        break
    except StartError as problem:
        assert "is being written by" in str(problem), problem
        time.sleep(0.02)
for repeat in range(20):
    name = f"color/red/position-p{sys.argv[2]}#{repeat}"
    store.append(replace(model, episode=name, repeat=repeat, error="x" * 300_000), os.urandom(1000))
run.close()
"""


@pytest.fixture
def seeded_run(run_directory: RunDirectory, record: Record) -> Path:
    run_directory.store().append(record(0, steps=0), b"")
    run_directory.close()
    return run_directory.path


@pytest.fixture
def nursery(seeded_run: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", NURSERY, str(seeded_run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        start_new_session=True,
    )
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def start_writer(nursery: subprocess.Popen[str]) -> int:
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    print("go", file=nursery.stdin, flush=True)
    return int(nursery.stdout.readline().split()[1])


def test_thirty_kills_lose_nothing_that_was_reported(nursery: subprocess.Popen[str], seeded_run: Path) -> None:
    generator = random.Random(7)
    assert nursery.stdout is not None
    reported = [0]
    for _ in range(30):
        writer = start_writer(nursery)
        reported.append(int(nursery.stdout.readline()))
        time.sleep(generator.uniform(0.0, 0.05))
        os.kill(writer, signal.SIGKILL)
        while (line := nursery.stdout.readline()) != "end\n":
            reported.append(int(line))
        repeats = [r.repeat for r in open_run(seeded_run).episodes()]
        assert repeats == list(range(len(repeats)))
        assert set(reported) <= set(repeats)
    assert len(set(reported)) == len(reported)  # nobody wrote an episode twice
    with open_run(seeded_run).store(damaged=True) as store:
        assert complaints(store) == []


def test_readers_get_their_turn_while_a_writer_commits_back_to_back(
    nursery: subprocess.Popen[str], seeded_run: Path
) -> None:
    # SQLite alone lets a reader ask ten times a second; the file is free for a moment only.
    writer = start_writer(nursery)
    assert nursery.stdout is not None
    nursery.stdout.readline()
    lengths: list[int] = []
    while len(lengths) < 8 or lengths[-1] == lengths[0]:
        repeats = [r.repeat for r in open_run(seeded_run).episodes()]
        assert repeats == list(range(len(repeats)))
        assert open_run(seeded_run).counts()["success"] >= len(repeats)
        lengths.append(len(repeats))
    os.kill(writer, signal.SIGKILL)
    assert lengths == sorted(lengths)


def test_a_reader_that_was_there_before_the_writer_was_killed_reads_on(
    nursery: subprocess.Popen[str], seeded_run: Path
) -> None:
    generator = random.Random(11)
    assert nursery.stdout is not None
    with open_run(seeded_run).store(readonly=True) as reader:
        for _ in range(8):
            writer = start_writer(nursery)
            nursery.stdout.readline()
            time.sleep(generator.uniform(0.0, 0.03))
            os.kill(writer, signal.SIGKILL)
            while nursery.stdout.readline() != "end\n":
                pass
            repeats = [r.repeat for r in reader.records()]
            assert repeats == list(range(len(repeats)))


def test_six_processes_in_turns_lose_and_mix_nothing(seeded_run: Path) -> None:
    # Seen elsewhere: lines of several processes split or merge, one of two writes disappears.
    writers = [
        subprocess.Popen([sys.executable, "-c", IN_TURNS, str(seeded_run), str(number)]) for number in range(10, 16)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 6
    records = list(open_run(seeded_run).episodes())
    assert len(records) == len({r.episode for r in records}) == 1 + 6 * 20
    assert all(len(r.error or "") == 300_000 for r in records[1:])


def test_a_second_writer_is_told_who_the_first_is(nursery: subprocess.Popen[str], seeded_run: Path) -> None:
    writer = start_writer(nursery)
    assert nursery.stdout is not None
    nursery.stdout.readline()
    assert open_run(seeded_run).writer == writer
    with pytest.raises(StartError, match=rf"{seeded_run.name} is being written by process {writer}; wait for it"):
        open_run(seeded_run).store()


def test_the_lock_of_a_dead_process_does_not_block(seeded_run: Path, record: Record) -> None:
    (seeded_run / "episodes.lock").write_text("999999\n")
    assert open_run(seeded_run).state == "interrupted"
    with open_run(seeded_run) as run:
        run.store().append(record(1), b"")


def mounted(folder: Path, size: str) -> bool:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, timeout=20).returncode == 0
    except OSError:
        return False


def remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True, timeout=20)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    folder = tmp_path / "disk"
    if not mounted(folder, "256k"):
        pytest.skip("cannot mount a file system here: not root, or in a container that forbids it")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=20)


def fill(folder: Path) -> None:
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


def test_a_full_disk_stops_the_run_and_it_goes_on_when_there_is_room(
    small_disk: Path, manifest: Callable[..., Manifest], record: Record, recording: Callable[..., bytes]
) -> None:
    run = RunDirectory.create(small_disk / "run", manifest())
    added, trajectory = 0, recording(20)
    with pytest.raises(StoppedEarly, match=r"episodes\.sqlite.*free space") as stop:
        for added in range(100):
            run.store().append(record(added, steps=20), trajectory)
    assert stop.value.exit_code == 4
    assert [r.repeat for r in open_run(run.path).episodes()] == list(range(added))
    remount(small_disk, "size=2m")
    for repeat in range(added, added + 20):
        run.store().append(record(repeat, steps=20), trajectory)
    run.close()
    with open_run(run.path).store(damaged=True) as store:
        assert complaints(store) == []
        assert [type(found) for found in inspect_store(store)] == [WholeEpisode] * (added + 20)


def test_a_manifest_that_finds_no_room_leaves_the_old_one(small_disk: Path, manifest: Callable[..., Manifest]) -> None:
    run = RunDirectory.create(small_disk / "run", manifest())
    fill(small_disk)
    with pytest.raises(StoppedEarly, match=r"manifest\.json: No space left on device; free space") as stop:
        run.update(state="finished", selection={"instances": ["x" * 5000]})
    assert stop.value.exit_code == 4
    assert open_run(run.path).manifest == manifest()
    assert not list(run.path.glob(".manifest*"))
    (small_disk / "filler").unlink()
    run.update(state="finished")
    assert open_run(run.path).state == "finished"
    run.close()


def test_a_run_that_finds_no_room_does_not_start(small_disk: Path, manifest: Callable[..., Manifest]) -> None:
    fill(small_disk)
    with pytest.raises(StartError, match=r"cannot write .*run.*--out"):
        RunDirectory.create(small_disk / "run", manifest())
    (small_disk / "filler").unlink()
    with RunDirectory.create(small_disk / "run", manifest()) as run:  # and the same command works when there is room
        assert run.state == "running"


def test_a_run_on_a_read_only_disk_is_read_and_not_written(
    small_disk: Path, manifest: Callable[..., Manifest], record: Record
) -> None:
    with RunDirectory.create(small_disk / "run", manifest()) as run:
        run.store().append(record(0, steps=0), b"")
        run.update(state="finished")
    remount(small_disk, "ro")
    run = open_run(small_disk / "run")
    assert (run.state, run.counts()["done"], len(list(run.episodes()))) == ("finished", 1, 1)
    with run.store(damaged=True) as store:
        assert complaints(store) == []
    with pytest.raises(StartError, match=r"cannot write beside .*Read-only file system"):
        run.store()
    with pytest.raises(StoppedEarly, match=r"manifest\.json: Read-only file system"):
        run.update(state="running")
    with pytest.raises(StartError, match=r"cannot write .*other: Read-only"):
        RunDirectory.create(small_disk / "other", manifest())
