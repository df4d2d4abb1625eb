"""`--dry-run` and `--config` on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_a_dry_run_says_what_it_takes_and_writes_nothing(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "expert", "--limit", "50", "--dry-run")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "roboview-bias: expert, 50 episodes"
    assert {line.split()[0]: int(line.split()[1]) for line in lines[1:6]} == {
        "color": 10, "camera-pose": 10, "camera-euler": 10, "camera-distance": 10, "camera-pose+color": 10,
    }  # fmt: skip
    assert lines[6].startswith("time: about ")
    assert "model calls: not reported by the agent" in lines
    assert "cost: not known" in lines
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_tells_how_many_workers_suit_an_agent_that_waits(rbench_command: Callable[..., Any]) -> None:
    slow = ["run", "roboview-bias", "--agent", "agents_that_end:Traced", "-o", "pause=2", "--limit", "500"]
    ran = rbench_command(*slow, "--dry-run", "--executor", "processes", "--workers", "1")
    assert ran.code == 0, ran.err
    (memory,) = (line for line in ran.out.splitlines() if line.startswith("memory: about "))
    assert 50 < float(memory.split()[2]) < 2000
    (advice,) = (line for line in ran.out.splitlines() if line.startswith("the agent waits "))
    assert "% of its time: --workers " in advice
    assert "GB of memory" in advice


def test_a_dry_run_has_no_advice_for_an_agent_that_computes(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "expert", "--limit", "500", "--dry-run", "--workers", "1")
    assert "the agent waits" not in ran.out


@pytest.mark.gl
def test_a_dry_run_counts_the_questions_of_an_agent(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "simple", "--limit", "50", "--dry-run")
    assert "model calls: about " in ran.out
    assert "an episode)" in ran.out


def test_a_dry_run_shows_an_agent_that_fails(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:Raises", "--limit", "9", "--dry-run")
    assert "3 of 3 episodes ended with an error: agent 'agents_under_test:Raises'" in ran.out


def test_a_run_is_repeated_from_its_manifest(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    first = rbench_command("run", "roboview-bias", "--agent", "agents_that_end:Traced", "--limit", "3", "--seed", "4")
    config = ["--config", str(first.directory / "manifest.json")]
    again = rbench_command("run", *config)
    assert again.code == 0, again.err
    assert [e.episode for e in again.episodes] == [e.episode for e in first.episodes]
    assert {e.seed for e in again.episodes} == {4}
    fewer = rbench_command("run", *config, "--limit", "2", "--seed", "5")
    assert len(fewer.episodes) == 2
    assert {e.seed for e in fewer.episodes} == {5}


def test_a_toml_file_makes_a_run(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("suite = 'roboview-bias'\nagent = 'agents_that_end:Traced'\noption = { pause = 0.01 }\nlimit = 2\n")
    ran = rbench_command("run", "--config", str(file))
    assert ran.code == 0, ran.err
    assert ran.manifest["agent"]["options"]["given"] == {"pause": 0.01}
    # What was not said is None, and no marker of the command line library is written.
    assert ran.manifest["selection"]["repeats"] is None
    assert "UNSET" not in (ran.directory / "manifest.json").read_text()
