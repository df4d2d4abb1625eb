"""Run directories: names, the manifest, and what is refused."""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rbench.errors import StartError, StoppedEarly, UsageError
from rbench.record import EpisodeRecord
from rbench.results.manifest import SCHEMA, AgentUsed, Manifest, Options, PartUsed
from rbench.results.run_directory import RunDirectory, open_run
from rbench.results.store import EpisodeStore

MakeManifest = Callable[..., Manifest]


def test_layout(run_directory: RunDirectory) -> None:
    expected = {"manifest.json", "episodes.sqlite", "episodes.lock", "artifacts", "report"}
    names = {p.name for p in run_directory.path.iterdir()}
    assert names == expected | {"episodes.sqlite-journal"}  # while it is written
    run_directory.close()
    assert {p.name for p in run_directory.path.iterdir()} == expected


def test_default_name_has_date_suite_agent_and_four_hex_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: MakeManifest
) -> None:
    monkeypatch.chdir(tmp_path)
    agent = replace(manifest().agent, name="my_module:MyAgent")
    with RunDirectory.create(None, manifest(agent=agent)) as run:
        assert re.fullmatch(r"rbench-runs/2026-02-03-tiny-suite-my_module-MyAgent-[0-9a-f]{4}", run.path.as_posix())


def test_runs_started_in_the_same_second_get_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: MakeManifest
) -> None:
    monkeypatch.chdir(tmp_path)
    drawn = iter(["aaaa", "bbbb", "cccc", "aaaa", "dddd", "bbbb", "aaaa", "eeee", "ffff"])
    monkeypatch.setattr("rbench.results.run_directory.secrets.token_hex", lambda n: next(drawn))
    paths = []
    for _ in range(3):
        with RunDirectory.create(None, manifest()) as run:
            paths.append(run.path)
    assert len(set(paths)) == 3


def test_names_do_not_touch_the_global_random_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: MakeManifest
) -> None:
    monkeypatch.chdir(tmp_path)
    before = random.getstate()
    RunDirectory.create(None, manifest()).close()
    assert random.getstate() == before


def test_manifest_comes_back_equal(run_directory: RunDirectory, manifest: MakeManifest) -> None:
    assert open_run(run_directory.path).manifest == manifest()


def test_manifest_holds_no_secrets(tmp_path: Path, manifest: MakeManifest) -> None:
    options = Options(
        {"api_key": "sk-1", "url": "http://me:pw@host/v1?key=k2"}, {"headers": {"Authorization": "Bearer b3"}}
    )
    secret = manifest(
        agent=AgentUsed("a", "d/a", "d", "1", options),
        wrappers=(PartUsed("w", "d/w", "d", "1", options),),
        vision=PartUsed("v", "d/v", "d", "1", options),
        selection={"token": "t4"},
    )
    with RunDirectory.create(tmp_path / "run", secret) as run:
        text = (run.path / "manifest.json").read_text()
    assert not [s for s in ("sk-1", "pw@", "k2", "b3", "t4", "me:") if s in text]
    assert open_run(tmp_path / "run").manifest.vision is not None


def test_episodes_are_iterated(run_directory: RunDirectory, record: Callable[..., EpisodeRecord]) -> None:
    run_directory.store().append(record(0), b"")
    assert list(open_run(str(run_directory.path)).episodes()) == [record(0)]


def test_counts_say_what_is_missing(run_directory: RunDirectory, record: Callable[..., EpisodeRecord]) -> None:
    outcomes = ["success"] * 3 + ["failure", "agent_error", "unstable", "infrastructure_error"]
    for i, outcome in enumerate(outcomes):
        run_directory.store().append(record(i, outcome), b"")
    assert run_directory.counts() == {
        "planned": 10,
        "done": 6,
        "missing": 4,
        "success": 3,
        "failure": 1,
        "agent_error": 1,
        "unstable": 1,
        "infrastructure_error": 1,
    }


def test_state_is_running_while_the_writer_lives(run_directory: RunDirectory) -> None:
    assert (run_directory.state, open_run(run_directory.path).state) == ("running", "running")
    run_directory.close()
    assert open_run(run_directory.path).state == "interrupted"


@pytest.mark.parametrize("state", ["finished", "stopped", "interrupted"])
def test_state_that_was_written_stays(run_directory: RunDirectory, state: str) -> None:
    run_directory.update(state=state)
    run_directory.close()
    assert open_run(run_directory.path).state == state


def test_only_one_writer_at_a_time(run_directory: RunDirectory) -> None:
    second = open_run(run_directory.path)
    with pytest.raises(StartError, match="being written by process"):
        second.store()
    run_directory.close()
    assert second.store() is second.store()
    second.close()
    second.close()


def test_folder_of_another_run_is_refused(run_directory: RunDirectory, manifest: MakeManifest) -> None:
    with pytest.raises(UsageError, match=r"holds a run already.*choose another --out") as caught:
        RunDirectory.create(run_directory.path, manifest())
    assert caught.value.exit_code == 2


def test_folder_with_other_files_is_refused(tmp_path: Path, manifest: MakeManifest) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match="is not empty"):
        RunDirectory.create(tmp_path, manifest())


@pytest.mark.parametrize("step", range(5))
def test_what_a_killed_start_left_is_taken(tmp_path: Path, manifest: MakeManifest, step: int) -> None:
    """As a kill leaves the folder before the manifest is there, at each step of making the store."""
    store, journal = tmp_path / "episodes.sqlite", tmp_path / "episodes.sqlite-journal"
    store.touch()
    if step > 0:
        (tmp_path / "episodes.lock").write_text("1234\n")
    if step > 1:  # in the middle of the commit that makes the tables
        elsewhere = tmp_path.with_name(f"{tmp_path.name}-elsewhere")
        elsewhere.mkdir()
        (elsewhere / store.name).touch()
        connection = sqlite3.connect(elsewhere / store.name, isolation_level=None)
        connection.execute("PRAGMA cache_size = 1")  # pages spill to the file before the commit
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE episodes (position INTEGER, filling BLOB)")
        connection.executemany("INSERT INTO episodes VALUES (?, zeroblob(9000))", [(n,) for n in range(20)])
        shutil.copy(elsewhere / journal.name, journal)
        if step > 2:
            shutil.copy(elsewhere / store.name, store)
        connection.close()
    if step > 3:  # after it
        journal.unlink()
        store.unlink()
        EpisodeStore.create(store).close()
    RunDirectory.create(tmp_path, manifest()).close()
    with open_run(tmp_path) as run:
        assert run.store().last_position() == 0


def test_a_folder_with_a_database_of_somebody_else_is_refused(tmp_path: Path, manifest: MakeManifest) -> None:
    with closing(sqlite3.connect(tmp_path / "episodes.sqlite")) as connection:
        connection.execute("CREATE TABLE theirs (value)")
    (tmp_path / "episodes.lock").touch()
    with pytest.raises(UsageError, match="is not empty"):
        RunDirectory.create(tmp_path, manifest())


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path, manifest: MakeManifest) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(UsageError, match="is a file"):
        RunDirectory.create(tmp_path / "out", manifest())


def test_empty_folder_is_taken(tmp_path: Path, manifest: MakeManifest) -> None:
    RunDirectory.create(tmp_path, manifest()).close()
    assert (tmp_path / "manifest.json").exists()


def test_unwritable_place_cannot_start(tmp_path: Path, manifest: MakeManifest, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match=r"cannot write .*file/run.*--out") as caught:
        RunDirectory.create(tmp_path / "file" / "run", manifest())
    assert caught.value.exit_code == 3
    (tmp_path / "rbench-runs").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StartError, match="--out"):
        RunDirectory.create(None, manifest())


@pytest.mark.parametrize("name", [".", "missing"])
def test_folder_without_a_run_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="give a run directory"):
        open_run(tmp_path / name)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}', '{"schema": "1"}', "\x00"])
def test_damaged_manifest_is_named(run_directory: RunDirectory, text: str) -> None:
    (run_directory.path / "manifest.json").write_text(text)
    with pytest.raises(UsageError, match=r"manifest\.json"):
        open_run(run_directory.path)


def change_manifest(run: RunDirectory, **changes: object) -> None:
    file = run.path / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_newer_manifest_is_refused_by_number(run_directory: RunDirectory) -> None:
    change_manifest(run_directory, schema=SCHEMA + 1, rbench="9.0")
    with pytest.raises(StartError, match=rf"newer rbench \(9\.0; manifest schema {SCHEMA + 1}.*pip install -U"):
        open_run(run_directory.path)


def test_keys_added_within_a_schema_are_ignored(run_directory: RunDirectory, manifest: MakeManifest) -> None:
    change_manifest(run_directory, mood="good")
    assert open_run(run_directory.path).manifest == manifest()


def test_failed_update_leaves_the_manifest_whole(run_directory: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (run_directory.path / "manifest.json").read_text()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rbench.results.atomic.os.fsync", full)
    with pytest.raises(StoppedEarly, match=r"manifest\.json: No space left.*free space"):
        run_directory.update(state="finished")
    assert (run_directory.path / "manifest.json").read_text() == before
    assert run_directory.manifest.state == "running"
    assert not list(run_directory.path.glob(".*"))


def test_update_changes_the_file(run_directory: RunDirectory) -> None:
    run_directory.update(state="finished", gl={"backend": "egl"})
    again = open_run(run_directory.path).manifest
    assert (again.state, again.gl) == ("finished", {"backend": "egl"})
