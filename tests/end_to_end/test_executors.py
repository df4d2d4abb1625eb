"""Executors: the same records everywhere, workers that start clean, and stdout that stays clean."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rbench
from rbench.errors import StartError
from rbench.record import identical
from rbench.running.description import Part, RunDescription
from rbench.running.plan import Selection
from rbench.running.run import prepare
from rbench.running.worker import Worker
from rbench.values import from_plain, to_plain

HERE = Path(__file__).resolve().parent


@pytest.mark.gl
def test_records_do_not_depend_on_executor_or_workers(rbench_command: Callable[..., Any]) -> None:
    # Seen elsewhere: as many starts as workers, outcomes that depend on them, and workers that cannot render because
    # their parent did: this process renders before it starts workers that render.
    arguments = ["run", "roboview-bias", "--agent", "agents_that_end:Renders"]
    arguments += ["--instances", "color/teal/*", "--limit", "7"]
    serial = {e.episode: e for e in rbench_command(*arguments, "--executor", "serial").episodes}
    assert len(serial) == 7
    assert len({e.hashes.state for e in serial.values()}) == 7
    assert len({(e.agent["report"]["drawn"], e.agent["report"]["sum"]) for e in serial.values()}) == 7
    for workers in ("1", "2", "3"):
        ran = rbench_command(*arguments, "--executor", "processes", "--workers", workers)
        assert ran.code == 0, ran.err
        episodes = ran.episodes
        assert sorted(e.episode for e in episodes) == sorted(serial)
        assert all(identical(e, serial[e.episode]) for e in episodes)
        assert ran.manifest["workers"] == int(workers)


def test_records_and_trajectories_of_motions_are_equal_to_the_byte(rbench_command: Callable[..., Any]) -> None:
    arguments = ["run", "roboview-bias", "--agent", "expert", "--limit", "6"]
    runs = [
        rbench_command(*arguments, "--executor", "serial"),
        rbench_command(*arguments, "--executor", "processes", "--workers", "2"),
    ]
    exported = []
    for ran in runs:
        with rbench.open_run(ran.directory).store(readonly=True) as store:
            records = {e.episode: e.to_plain() for e in store.records()}
            trajectories = {name: store.trajectory(name).to_bytes() for name in records}
        for record in records.values():
            del record["timing"]
        exported.append((json.dumps(records, sort_keys=True), trajectories))
    assert exported[0] == exported[1]


def test_episodes_end_on_disk_before_they_count(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    def seen(record: rbench.EpisodeRecord) -> None:
        with rbench.open_run(tmp_path / "run").store(readonly=True) as store:
            assert store.record(record.episode) == record

    rbench.run("roboview-bias", "agents_that_end:Traced", limit=4, workers=2, out=tmp_path / "run", on_finished=seen)


@pytest.mark.parametrize("executor", ["processes", "serial"])
def test_what_agents_print_is_not_a_result(start_rbench: Callable[..., Any], executor: str) -> None:
    agent = ["--agent", "agents_that_end:Noisy", "--executor", executor]
    ran = start_rbench("run", "roboview-bias", *agent, "--limit", "3").ended()
    assert ran.code == 0, ran.err
    assert "noise" not in ran.out
    assert ran.out.splitlines()[-1] == f"run directory: {ran.directory}"
    for kind in ("print", "write", "child", "stdout"):
        assert ran.err.count(f"noise-{kind} act") == 3
    assert "mean seconds an episode" in ran.err


@pytest.mark.gl
def test_workers_that_render_end_quietly(start_rbench: Callable[..., Any]) -> None:
    agent = ["--agent", "agents_that_end:Renders", "--workers", "2"]
    ran = start_rbench("run", "roboview-bias", *agent, "--limit", "4").ended()
    assert ran.code == 0
    assert "Traceback" not in ran.err
    assert "Exception ignored" not in ran.err


def test_workers_have_one_thread_and_only_the_plugins_they_need(
    rbench_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "LP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MUJOCO_GL", "disable")
    monkeypatch.setenv("SURROUNDINGS", "as they were")
    arguments = ["run", "roboview-bias", "--agent", "agents_that_end:Surroundings", "--limit", "2"]
    ran = rbench_command(*arguments, "--executor", "processes", "--workers", "1")
    reports = [e.agent["report"] for e in ran.episodes]
    assert len({report["pid"] for report in reports}) == 1
    environment = reports[0]["environment"]
    assert (environment["OMP_NUM_THREADS"], environment["LP_NUM_THREADS"]) == ("1", "0")
    assert environment["OPENBLAS_NUM_THREADS"] == "1"
    assert environment["MUJOCO_GL"] in ("disable", "disabled")
    assert environment["SURROUNDINGS"] == "as they were"
    packages = {name.partition(".")[0] for name in reports[0]["loaded"]}
    assert packages == {"rbench_factor_appearance", "rbench_factor_viewpoint", "rbench_factor_context"}


def test_the_users_number_of_threads_stays(rbench_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    arguments = ["run", "roboview-bias", "--agent", "agents_that_end:Surroundings", "--limit", "1"]
    ran = rbench_command(*arguments, "--executor", "processes", "--workers", "1")
    assert ran.episodes[0].agent["report"]["environment"]["OMP_NUM_THREADS"] == "4"


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import rbench\n"
        "print('begun')\n"
        "run = rbench.run('roboview-bias', 'agents_that_end:Traced', limit=4, workers=2)\n"
        "print(len(list(run.episodes())), 'episodes')\n"
    )
    shutil.copy(HERE / "agents_that_end.py", tmp_path)
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["begun", "4 episodes"]
    assert len(list((tmp_path / "rbench-runs").iterdir())) == 1


@pytest.fixture
def job(catalog: Any) -> Any:
    return prepare(catalog, RunDescription("roboview-bias", Part("idle"), selection=Selection(limit=1))).job


def test_a_job_is_plain_data(job: Any) -> None:
    assert from_plain(type(job), json.loads(json.dumps(to_plain(job)))) == job


def test_a_worker_refuses_other_versions_by_name(job: Any) -> None:
    other = dataclasses.replace(job, versions={**job.versions, "mujoco": "3.9.0", "rbench-agent-gone": "1.0"})
    with pytest.raises(StartError, match=r"mujoco is \S+ here and 3\.9\.0 there; rbench-agent-gone is not installed"):
        Worker.of_job(other)


def test_a_worker_refuses_a_suite_that_changed(job: Any) -> None:
    with pytest.raises(StartError, match="suite 'roboview-bias' changed"):
        Worker.of_job(dataclasses.replace(job, suite_hash="0" * 64))


def test_a_worker_refuses_another_file_of_an_agent(
    catalog: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE)
    part = Part.named("agents_that_end:Traced")
    job = prepare(catalog, RunDescription("roboview-bias", part, selection=Selection(limit=1))).job
    Worker.of_job(job).close()
    other = dataclasses.replace(job, files={"agents_that_end:Traced": "sha256:0"})
    with pytest.raises(StartError, match="the file of agents_that_end:Traced is not the one"):
        Worker.of_job(other)


def test_status_from_another_terminal(start_rbench: Callable[..., Any], rbench_command: Callable[..., Any]) -> None:
    started = start_rbench(
        "run",
        "roboview-bias",
        "--agent",
        "agents_that_end:Traced",
        "-o",
        "pause=0.3",
        "--limit",
        "60",
        "--workers",
        "2",
    )
    started.wait_for(2)
    asked = rbench_command("status", str(started.directory), "--json")
    facts = json.loads(asked.out)
    assert (facts["state"], facts["pid"], facts["workers"]) == ("running", started.process.pid, 2)
    assert facts["counts"]["done"] >= 2
    assert facts["counts"]["planned"] == 60
    assert facts["rate"] > 0
    assert facts["seconds_left"] > 0
    assert f"process {started.process.pid}" in rbench_command("status", str(started.directory)).out


def test_a_second_run_on_one_directory_is_refused_by_the_name_of_the_first(
    start_rbench: Callable[..., Any], rbench_command: Callable[..., Any]
) -> None:
    # Seen elsewhere: two processes write one file, lines split or merge, and one of two writes disappears.
    arguments = ["run", "roboview-bias", "--agent", "agents_that_end:Traced", "-o", "pause=0.3", "--limit", "60"]
    started = start_rbench(*arguments)
    started.wait_for(1)
    again = rbench_command(*arguments, "--out", str(started.directory))
    assert again.code == 2
    assert f"process {started.process.pid}" in again.err
    resumed = rbench_command("resume", str(started.directory))
    assert resumed.code == 3
    assert f"process {started.process.pid}" in resumed.err
