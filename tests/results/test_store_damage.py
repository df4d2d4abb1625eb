"""Torn files and flipped bits: nothing damaged is ever reported as a result, and what is whole can be saved."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.errors import RbenchError, StartError, StoppedEarly, UsageError
from rbench.record import EpisodeRecord
from rbench.results.inspection import DamagedEpisode, WholeEpisode, complaints, inspect_store, salvage
from rbench.results.manifest import Manifest
from rbench.results.run_directory import RunDirectory, open_run
from rbench.results.store import EpisodeStore

Record = Callable[..., EpisodeRecord]
Recording = Callable[..., bytes]
EPISODES = 24


@pytest.fixture(scope="module")
def original(
    tmp_path_factory: pytest.TempPathFactory, record: Record, manifest: Callable[..., Manifest], recording: Recording
) -> Path:
    """24 episodes, each with some pages of trajectory."""
    path = tmp_path_factory.mktemp("original") / "run"
    with RunDirectory.create(path, manifest()) as run:
        for repeat in range(EPISODES):
            run.store().append(record(repeat, steps=60), recording(60, repeat))
    return path


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(original, tmp_path / "run"))


def store_file(run: Path) -> Path:
    return run / "episodes.sqlite"


def change(run: Path, statement: str) -> None:
    connection = sqlite3.connect(store_file(run))
    connection.execute(statement)
    connection.commit()
    connection.close()


def whole_repeats(run: Path) -> list[int]:
    with open_run(run).store(damaged=True) as store:
        return [found.record.repeat for found in inspect_store(store) if isinstance(found, WholeEpisode)]


def test_a_whole_store_has_no_complaints(run: Path) -> None:
    with open_run(run).store(damaged=True) as store:
        assert complaints(store) == []
    assert whole_repeats(run) == list(range(EPISODES))


@pytest.mark.parametrize("number", range(8))
def test_a_torn_file_is_refused_and_its_whole_episodes_are_saved(run: Path, tmp_path: Path, number: int) -> None:
    file = store_file(run)
    content = file.read_bytes()
    length = random.Random(number).randrange(20_000, len(content) - 1)
    file.write_bytes(content[:length])
    with pytest.raises(StartError, match=r"episodes\.sqlite is damaged.*rbench verify .*--salvage"):
        list(open_run(run).episodes())
    whole = whole_repeats(run)
    assert salvage(open_run(run), tmp_path / "saved") == len(whole) < EPISODES
    saved = open_run(tmp_path / "saved")
    assert [r.repeat for r in saved.episodes()] == whole
    assert saved.state == saved.manifest.state == "interrupted"
    assert file.read_bytes() == content[:length]


def test_more_of_a_file_saves_more_episodes(run: Path) -> None:
    content = store_file(run).read_bytes()
    saved = []
    for share in (0.3, 0.6, 0.9):
        store_file(run).write_bytes(content[: int(share * len(content))])
        saved.append(len(whole_repeats(run)))
    assert 0 < saved[0] < saved[1] < saved[2] < EPISODES


def test_a_file_without_its_beginning_is_no_store(run: Path) -> None:
    content = store_file(run).read_bytes()
    for torn in (b"", content[:50], b"\0" * 4096 + content[4096:]):
        store_file(run).write_bytes(torn)
        with pytest.raises((UsageError, StartError), match=r"episodes\.sqlite"):
            open_run(run).counts()


@pytest.mark.parametrize("number", range(30))
def test_a_flipped_bit_never_changes_what_is_reported(
    run: Path, record: Record, recording: Recording, number: int
) -> None:
    file = store_file(run)
    content = bytearray(file.read_bytes())
    generator = random.Random(number)
    for _ in range(generator.choice([1, 1, 8, 64])):
        content[generator.randrange(100, len(content))] ^= 1 << generator.randrange(8)
    file.write_bytes(content)
    expected = {repeat: record(repeat, steps=60) for repeat in range(EPISODES)}
    try:
        with open_run(run).store(damaged=True) as store:
            found = list(inspect_store(store))
        for episode in found:
            if isinstance(episode, WholeEpisode):
                assert episode.record == expected[episode.record.repeat]
                assert episode.trajectory == recording(60, episode.record.repeat)
            else:
                assert episode.problem
        for read in open_run(run).episodes():
            assert read == expected[read.repeat]
    except RbenchError as problem:
        assert "episodes.sqlite" in str(problem)


def test_a_number_that_changed_is_noticed(run: Path) -> None:
    connection = sqlite3.connect(store_file(run))
    connection.execute(
        "UPDATE episodes SET record = replace(record, '\"score\":1.0', '\"score\":0.5') WHERE position = 3"
    )
    connection.commit()
    connection.close()
    with pytest.raises(StartError, match=r"the record of 'color/red/position-p2#2' is not what was written"):
        list(open_run(run).episodes())
    with open_run(run).store(readonly=True) as store, pytest.raises(StartError, match="not what was written"):
        store.record("color/red/position-p2#2")
    assert whole_repeats(run) == [r for r in range(EPISODES) if r != 2]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE episodes SET outcome = 'failure' WHERE position = 5", "column outcome says 'failure'"),
        ("UPDATE episodes SET dimension = 'distance' WHERE position = 5", "column dimension says 'distance'"),
        ("UPDATE trajectories SET trajectory = x'00' WHERE position = 5", "its trajectory is not what was written"),
        ("DELETE FROM trajectories WHERE position = 5", "it has no trajectory"),
        ("UPDATE episodes SET record = '[]', crc = NULL WHERE position = 5", "its record cannot be read"),
        ("UPDATE trajectories SET trajectory = x'', crc = NULL WHERE position = 5", "60 steps and no trajectory"),
    ],
)
def test_what_does_not_fit_is_named(run: Path, statement: str, problem: str) -> None:
    change(run, statement)
    with open_run(run).store(damaged=True) as store:
        (damaged,) = [found for found in inspect_store(store) if isinstance(found, DamagedEpisode)]
    assert damaged.episode == "color/red/position-p2#4"
    assert problem in damaged.problem
    assert str(damaged).startswith("color/red/position-p2#4: ")


def test_an_outcome_that_does_not_exist_is_damage(run: Path) -> None:
    change(run, "UPDATE episodes SET outcome = 'sucdess' WHERE position = 5")
    with open_run(run).store(readonly=True) as store, pytest.raises(StartError, match=r"damaged.*'sucdess'"):
        store.counts_by_dimension()


def test_a_damaged_trajectory_is_not_replayed(run: Path) -> None:
    change(run, "UPDATE trajectories SET trajectory = zeroblob(100) WHERE position = 5")
    with open_run(run).store(readonly=True) as store, pytest.raises(StartError, match=r"trajectory of .*#4' is not"):
        store.trajectory("color/red/position-p2#4")


def test_writing_to_a_torn_file_stops_the_run(run: Path, record: Record, recording: Recording) -> None:
    file = store_file(run)
    with EpisodeStore.open(file) as store:
        with file.open("r+b") as torn:
            torn.truncate(file.stat().st_size // 2)
        with pytest.raises(StoppedEarly, match=r"damaged.*rbench verify"):
            for repeat in range(EPISODES, 2 * EPISODES):
                store.append(record(repeat, steps=60), recording(60, repeat))


def test_nothing_is_salvaged_over_something(run: Path) -> None:
    with pytest.raises(UsageError, match="holds a run already"):
        salvage(open_run(run), run)
