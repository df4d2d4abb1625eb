"""Verify: a run that is whole, planned and repeatable passes; whatever is not is named, and what is whole is saved."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rbench
from rbench.errors import UsageError
from rbench.record import identical
from rbench.results.run_directory import RunDirectory
from rbench.running.verify import sample

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six episodes of the expert."""
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_DIR", str(place / "no-repository"))  # as for every other command here
        return rbench.run("roboview-bias", "expert", limit=6, executor="serial", out=place / "original").path


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    return Path(shutil.copytree(original, tmp_path / "run"))


def edit_manifest(run: Path, **changes: Any) -> None:
    file = run / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def edit_store(run: Path, statement: str) -> None:
    connection = sqlite3.connect(run / "episodes.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_whole_run_is_verified_and_nothing_is_written(rbench_command: Command, run: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    verified = rbench_command("verify", str(run), "--share", "0.4")
    assert verified.code == 0, verified.out + verified.err
    assert verified.out.splitlines() == [
        "store: 6 whole episodes: ok",
        "table: computed again: ok",
        "plan: 6 episodes: ok",
        "replayed: 3 of 6 episodes (seed 0): ok",
        f"{run}: verified",
    ]
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_a_half_finished_run_is_verified(rbench_command: Command, run: Path) -> None:
    edit_store(run, "DELETE FROM trajectories WHERE position > 3")
    edit_store(run, "DELETE FROM episodes WHERE position > 3")
    edit_manifest(run, state="stopped")
    verified = rbench_command("verify", str(run), "--episodes", "0")
    assert verified.code == 0, verified.out
    assert "store: 3 whole episodes: ok" in verified.out


def test_a_stored_table_that_is_the_same_passes(rbench_command: Command, run: Path) -> None:
    for number, convention in enumerate(("default", "paper")):
        report = run / "report" / f"report-{number}.json"
        arguments = ["--format", "json", "--convention", convention, "-o", str(report)]
        assert rbench_command("report", str(run), *arguments).code == 0
    verified = rbench_command("verify", str(run), "--episodes", "0")
    assert verified.code == 0, verified.out


def test_a_stored_table_that_is_another_is_named(rbench_command: Command, run: Path) -> None:
    report = run / "report" / "report.json"
    rbench_command("report", str(run), "--format", "json", "-o", str(report))
    tables = json.loads(report.read_text())
    tables[0]["dimensions"]["color"]["successes"] += 1
    report.write_text(json.dumps(tables))
    verified = rbench_command("verify", str(run), "--episodes", "0")
    assert verified.code == 1
    assert "report/report.json: dimensions.color.successes is" in verified.out
    assert "recomputed" in verified.out


def test_what_lies_in_the_report_folder_and_is_no_table_is_left_alone(rbench_command: Command, run: Path) -> None:
    (run / "report" / "notes.json").write_text("[1, {}, null]")
    (run / "report" / "torn.json").write_text('[{"created": ')
    assert rbench_command("verify", str(run), "--episodes", "0").code == 0


def test_an_episode_that_does_not_happen_again_is_named(rbench_command: Command, run: Path, tmp_path: Path) -> None:
    first = rbench.open_run(run)
    with RunDirectory.create(tmp_path / "better", first.manifest) as better, first.store(readonly=True) as store:
        for record in store.records():
            improved = replace(record, score=0.5) if record.repeat == 0 and record.dimension == "color" else record
            better.store().append(improved, store.trajectory(record.episode).to_bytes())
        better.update(state="finished")
    verified = rbench_command("verify", str(tmp_path / "better"), "--share", "1")
    assert verified.code == 1
    assert "color/" in verified.out
    assert "replay differs in score (0.5, now 1)" in verified.out
    assert "DIFFERENT" in verified.out.splitlines()[-1]


def test_the_plan_of_the_manifest_is_checked(rbench_command: Command, run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    edit_manifest(run, planned=7, selection=manifest["selection"] | {"limit": 5})
    verified = rbench_command("verify", str(run), "--episodes", "0")
    assert verified.code == 1
    assert "manifest.json: planned 7, its selection plans 5" in verified.out
    assert "is not in the plan" in verified.out


def test_a_finished_run_that_misses_episodes_is_named(rbench_command: Command, run: Path) -> None:
    edit_store(run, "DELETE FROM trajectories WHERE position = 4")
    edit_store(run, "DELETE FROM episodes WHERE position = 4")
    verified = rbench_command("verify", str(run), "--episodes", "0")
    assert verified.code == 1
    assert "manifest.json: state finished, 1 planned episodes are missing" in verified.out


def test_damage_is_named_and_the_rest_is_saved_and_completed(
    rbench_command: Command, run: Path, original: Path, tmp_path: Path
) -> None:
    edit_store(run, "UPDATE episodes SET record = replace(record, 'true', 'false') WHERE position = 2")
    edit_store(run, "UPDATE trajectories SET trajectory = zeroblob(1000) WHERE position = 5")
    exported = rbench_command("export", str(run), "-o", str(tmp_path / "out.csv"))
    assert exported.code == 3
    assert "is damaged" in exported.err
    assert f"rbench verify {run}" in exported.err
    assert not (tmp_path / "out.csv").exists()
    reported = rbench_command("report", str(run))
    assert reported.code == 1
    assert "is damaged" in " ".join(reported.out.split())

    verified = rbench_command("verify", str(run), "--episodes", "1")
    assert verified.code == 1
    assert verified.out.count("is not what was written") == 2
    assert "--salvage NEW" in verified.err

    saved = tmp_path / "saved"
    salvaged = rbench_command("verify", str(run), "--salvage", str(saved))
    assert salvaged.code == 1
    assert f"salvaged: 4 episodes; rbench resume {saved}" in salvaged.out
    resumed = rbench_command("resume", str(saved), "--executor", "serial")
    assert resumed.code == 0, resumed.err
    assert rbench_command("verify", str(saved), "--share", "1").code == 0
    first = {record.episode: record for record in rbench.open_run(original).episodes()}
    again = {record.episode: record for record in rbench.open_run(saved).episodes()}
    assert first.keys() == again.keys()
    assert all(identical(first[name], again[name]) for name in first)


def test_a_run_that_is_being_written_is_refused(rbench_command: Command, run: Path) -> None:
    with rbench.open_run(run) as writer:
        writer.store()
        writer.update(state="running")
        verified = rbench_command("verify", str(run))
    assert verified.code == 3
    assert "is being written; verify it when it has ended" in verified.err


def test_another_suite_is_refused_by_name(rbench_command: Command, run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    edit_manifest(run, suite=manifest["suite"] | {"hash": "0" * 64})
    verified = rbench_command("verify", str(run))
    assert verified.code == 2
    assert "suite 'roboview-bias' is not the one that was run" in verified.err
    assert "store: 6 whole episodes: ok" in verified.out  # what could be checked was


def test_a_share_and_a_number_exclude_each_other(rbench_command: Command, run: Path) -> None:
    verified = rbench_command("verify", str(run), "--share", "0.5", "--episodes", "2")
    assert verified.code == 2
    assert "exclude" in verified.err


def test_a_sample_depends_on_its_seed_and_not_on_the_order_of_episodes() -> None:
    episodes = [f"color/red/base#{n}" for n in range(200)]
    chosen = sample(episodes, share=0.05)
    assert len(chosen) == len(set(chosen)) == 10
    assert chosen == sample(episodes[::-1], share=0.05)
    assert chosen != sample(episodes, share=0.05, seed=1)
    assert len(sample(episodes, share=0.001)) == 1
    assert sample(episodes, number=500) == sorted(episodes)
    assert sample([], share=0.05) == []
    with pytest.raises(UsageError):
        sample(episodes)
