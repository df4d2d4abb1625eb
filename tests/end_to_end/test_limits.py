"""Limits of workers: said, written down and kept; and what a run says and does about episodes that cannot be played."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import rbench.cli.progress
import rbench.running.episode
from rbench.cli import patience
from rbench.cli.configuration import read_config
from rbench.running.executors import watchdog
from rbench.running.limits import Limits
from rbench.tasks.monitor import TaskMonitor
from rbench.world_state import WorldState

HERE = Path(__file__).resolve().parent
TRACED = ["run", "roboview-bias", "--agent", "agents_that_end:Traced", "--limit", "2"]


def test_limits_have_defaults_that_are_written_down(rbench_command: Callable[..., Any]) -> None:
    assert rbench_command(*TRACED).manifest["limits"] == {"episode": 1800.0, "start": 600.0, "memory": None}


def test_a_resume_keeps_the_limits_unless_it_is_told_others(rbench_command: Callable[..., Any]) -> None:
    words = ["--episode-limit", "60", "--start-limit", "0", "--worker-memory", "4000"]
    first = rbench_command(*TRACED, *words)
    assert first.manifest["limits"] == {"episode": 60.0, "start": 0.0, "memory": 4000.0}
    rbench_command("resume", str(first.directory), "--limit", "3", "--episode-limit", "90")
    assert first.manifest["limits"] == {"episode": 90.0, "start": 0.0, "memory": 4000.0}
    rbench_command("resume", str(first.directory), "--limit", "4")
    assert first.manifest["limits"] == {"episode": 90.0, "start": 0.0, "memory": 4000.0}


def test_limits_decide_no_record_so_other_ones_are_no_change(rbench_command: Callable[..., Any]) -> None:
    first = rbench_command(*TRACED, "--episode-limit", "60")
    resumed = rbench_command("resume", str(first.directory), "--limit", "3", "--episode-limit", "0")
    assert resumed.code == 0, resumed.err
    assert len(first.episodes) == 3


def test_a_run_from_before_there_were_limits_gets_the_defaults(rbench_command: Callable[..., Any]) -> None:
    first = rbench_command(*TRACED)
    manifest = first.manifest
    del manifest["limits"]
    (first.directory / "manifest.json").write_text(json.dumps(manifest))
    assert rbench_command("resume", str(first.directory), "--limit", "3").code == 0
    assert first.manifest["limits"]["episode"] == Limits().episode


def test_a_file_says_limits_too(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("episode-limit = 60\nstart-limit = 30.5\nworker-memory = 2000\n")
    assert read_config(file).execution().limits == Limits(60.0, 30.5, 2000.0)


@pytest.mark.parametrize("text", ["episode-limit = -1", "worker-memory = nan", "start-limit = inf"])
def test_a_limit_that_is_none_is_refused(rbench_command: Callable[..., Any], tmp_path: Path, text: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text)
    ran = rbench_command(*TRACED, "--config", str(file))
    assert ran.code == 2
    assert text.split()[0] in ran.err


def test_a_worker_that_is_at_one_thing_for_long_is_told(
    rbench_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "LONG_WAIT", 0.5)
    monkeypatch.setattr(rbench.cli.progress, "WAITING_INTERVAL", 0.0)
    ran = rbench_command(*TRACED, "-o", "pause=2.5", "--executor", "processes", "--workers", "1")
    assert ran.code == 0
    assert "worker 1: in act() for " in ran.err


def test_an_agent_that_takes_long_to_make_is_told(
    rbench_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the agent is imported and made here once" not in rbench_command(*TRACED).err
    monkeypatch.setattr(patience, "SLOW", 0.0)
    assert rbench_command(*TRACED).err.count("the agent is imported and made here once") == 1


def test_a_suite_whose_goal_holds_at_reset_stops_soon(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    text = files("rbench.suites").joinpath("roboview-bias.toml").read_text()
    goal = '{ in_container = { object = "geometry", container = "box" } },'
    assert goal in text
    suite = tmp_path / "mine.toml"
    suite.write_text(text.replace(goal, "").replace('"grasped", "in_box"', '"grasped"'))
    ran = rbench_command("run", str(suite), "--agent", "idle", "--limit", "9")
    assert ran.code == 4
    assert "the goal of task 'geometry-in-box' already holds at reset" in ran.err
    assert "change the scene or the goal" in ran.err
    assert [(e.outcome, e.reason) for e in ran.episodes] == [("infrastructure_error", "goal_at_reset")] * 3


def test_one_level_at_which_the_goal_holds_costs_its_episodes_and_no_other(
    rbench_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Monitor(TaskMonitor):
        def update(self, state: WorldState) -> None:
            super().update(state)
            if self not in made:
                made.append(self)
            self.goal_holds = self in made[1:4]  # the three attempts at the second episode

    monkeypatch.setattr(rbench.running.episode, "TaskMonitor", Monitor)
    ran = rbench_command("run", "roboview-bias", "--agent", "idle", "--instances", "color/red/*", "--limit", "4")
    assert ran.code == 1
    assert [e.reason for e in ran.episodes] == ["time_limit", "goal_at_reset", "time_limit", "time_limit"]
    monkeypatch.undo()
    assert rbench_command("resume", str(ran.directory)).code == 0


def test_a_serial_run_into_a_relative_folder_does_not_follow_an_agent_elsewhere(
    rbench_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for file in HERE.glob("agents_that_*.py"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_that_misbehave:Wanders", "--limit", "3", "--out", "mine"
    )
    assert ran.code == 0, ran.err
    assert len(list(rbench.open_run(tmp_path / "mine").episodes())) == 3
    assert Path.cwd() == tmp_path
