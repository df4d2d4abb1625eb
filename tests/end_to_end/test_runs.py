"""Whole runs through the command line: records, tables, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rbench
from rbench.design import Episode
from rbench.record import identical
from rbench.running.agents import resolve_agent
from rbench.running.description import Part, RunDescription
from rbench.running.plan import Selection
from rbench.running.run import prepare
from rbench.running.worker import Worker

HERE = Path(__file__).resolve().parent


def test_the_main_job_ends_in_a_table_and_names_the_run_directory(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "expert", "--limit", "8")
    assert ran.code == 0, ran.err
    assert ran.out.rstrip().splitlines()[-1] == f"run directory: {ran.directory}"
    for dimension in ("color", "camera-pose", "camera-euler", "camera-distance"):
        assert dimension in ran.out
    assert [e.outcome for e in ran.episodes] == ["success"] * 8
    assert len({e.episode for e in ran.episodes}) == 8


def test_an_agent_that_does_nothing_fails_at_the_time_limit(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "idle", "--limit", "2")
    assert ran.code == 0
    assert [(e.outcome, e.reason, e.score, e.sim_seconds) for e in ran.episodes] == [
        ("failure", "time_limit", 0, 15.0)
    ] * 2


def test_exports_hold_the_documented_fields(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "expert", "--limit", "1")
    target = tmp_path / "episodes.jsonl"
    assert rbench_command("export", str(ran.directory), "--format", "jsonl", "-o", str(target)).code == 0
    (line,) = target.read_text().splitlines()
    fields = {
        "episode", "instance", "repeat", "task", "dimension", "context", "levels", "values", "jitter", "seed",
        "outcome", "reason", "success", "score", "steps", "sim_seconds", "events", "instruction", "hashes", "error",
        "agent", "timing",
    }  # fmt: skip
    assert set(json.loads(line)) == fields
    assert set(json.loads(line)["hashes"]) == {"scene", "state", "first_frame"}


def test_seven_episodes_have_seven_ids_and_seven_initial_states(rbench_command: Callable[..., Any]) -> None:
    # Seen elsewhere: only as many different starts as environments, and extra episodes leaking in.
    agent = ["--agent", "agents_under_test:GivesUp"]
    ran = rbench_command("run", "roboview-bias", *agent, "--instances", "color/teal/*", "--limit", "7")
    assert len({e.episode for e in ran.episodes}) == len(ran.episodes) == 7
    assert len({e.hashes.state for e in ran.episodes}) == 7


def _run_in_process(directory: Path, hash_seed: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "rbench", "run", "roboview-bias", "--agent", "agents_under_test:RandomStops",
               "--limit", "12", "--seed", "5", "--out", str(directory)]  # fmt: skip
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return sorted(rbench.open_run(directory).episodes(), key=lambda e: e.episode)


def test_the_same_plan_gives_identical_records_under_two_hash_seeds(tmp_path: Path) -> None:
    first, second = _run_in_process(tmp_path / "a", "1"), _run_in_process(tmp_path / "b", "2")
    assert len(first) == 12
    assert all(identical(a, b) for a, b in zip(first, second, strict=True))
    assert len({e.agent["report"]["drawn"] for e in first}) == 12


def test_another_order_of_the_plan_gives_the_same_records(catalog: Any) -> None:
    description = RunDescription("roboview-bias", Part("expert"), selection=Selection(limit=6))
    prepared = prepare(catalog, description)
    plan = list(prepared.plan)

    def records(episodes: list[Episode]) -> dict[str, Any]:
        worker = Worker(prepared.suite, resolve_agent(catalog, prepared.description), seed=0)
        try:
            return {e.id: worker.run(e) for e in episodes}
        finally:
            worker.close()

    forward, backward = records(plan), records(plan[::-1])
    assert forward.keys() == backward.keys()
    for name, finished in forward.items():
        assert identical(finished.record, backward[name].record)
        assert finished.trajectory == backward[name].trajectory


def test_levels_of_a_block_share_their_jitter_and_blocks_do_not(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_under_test:GivesUp",
        "--instances", "color/red/*", "--instances", "color/teal/*", "--instances", "camera-distance/d0.05/*",
        "--repeats", "2",
    )  # fmt: skip
    blocks: dict[tuple[str, int], set[Any]] = {}
    for episode in ran.episodes:
        blocks.setdefault((episode.context, episode.repeat), set()).add(tuple(episode.jitter.items()))
    assert len(blocks) == 22
    assert all(len(jitters) == 1 for jitters in blocks.values())
    assert len(set().union(*blocks.values())) == 22


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "roboview-bias", "--agent", "expret"], 2, "expert"),
        (["run", "roboview-bais", "--agent", "expert"], 2, "roboview-bias"),
        (["run", "roboview-bias", "--agent", "expert", "-o", "sped=1"], 2, "sped"),
        (["run", "roboview-bias", "--agent", "expert", "--dimension", "colour"], 2, "color"),
        (["run", "roboview-bias", "--agent", "expert", "--instances", "nothing/*"], 2, "nothing/*"),
        (["run", "roboview-bias", "--agent", "expert", "--limit", "0"], 2, "limit"),
        (["run", "roboview-bias", "--agent", "expert", "--seed", "-1"], 2, "seed"),
        (["run", "roboview-bias", "--agent", "expert", "--preset", "quik"], 2, "quick"),
        (["run", "roboview-bias", "--agent", "expert", "--wrap", "sgll"], 2, "sgll"),
        (["run", "roboview-bias", "--agent", "nowhere:Agent"], 2, "nowhere"),
        (["run", "roboview-bias", "--agent", "agents_under_test:Missing"], 2, "Missing"),
        (
            ["run", "roboview-bias", "--agent", "agents_under_test:Blind", "--dimension", "camera-pose"],
            2,
            "camera-pose",
        ),
        (["rum"], 2, "run"),
        (["replay", "no-such-folder", "x#0"], 2, "no-such-folder"),
        (["render", "roboview-bias", "color/rde/position-p1", "-o", "x.png"], 2, "rde"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_use_names_the_word_and_the_remedy(
    rbench_command: Callable[..., Any], arguments: list[str], code: int, said: str
) -> None:
    ran = rbench_command(*arguments)
    assert ran.code == code, ran.err
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert ran.directory is None or not ran.directory.exists()


def test_a_run_directory_is_not_written_over(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    arguments = [
        "run",
        "roboview-bias",
        "--agent",
        "agents_under_test:GivesUp",
        "--limit",
        "1",
        "--out",
        str(tmp_path / "x"),
    ]
    assert rbench_command(*arguments).code == 0
    again = rbench_command(*arguments)
    assert again.code == 2
    assert str(tmp_path / "x") in again.err


def test_python_runs_like_the_command_line(tmp_path: Path, rbench_command: Callable[..., Any]) -> None:
    run = rbench.run("roboview-bias", agent="agents_under_test:GivesUp", limit=3, out=tmp_path / "api")
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:GivesUp", "--limit", "3")
    by_id = {e.episode: e for e in run.episodes()}
    assert len(by_id) == len(ran.episodes) == 3
    assert all(identical(by_id[e.episode], e) for e in ran.episodes)
