"""Losing a worker is an event with a record, and nobody waits for the dead."""

from __future__ import annotations

import collections
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.simulation.stage import Stage

#: How an agent may end its process, and what the record says of it.
ENDINGS = {
    "exit": "exit status 7",
    "kill": "signal SIGKILL",
    "segfault": "signal SIGSEGV",
    "system_exit": "SystemExit: 3",
    "keyboard": "exit status 130",
}


@pytest.fixture
def lose(
    rbench_command: Callable[..., Any], drawn: Callable[..., float], planned: Callable[..., Any], tmp_path: Path
) -> Callable[..., Any]:
    """Runs 8 episodes with 2 workers; in the third of the plan the agent does `how`. Returns run and that record."""

    def run(how: str, *options: str, agent: str = "Ends") -> Any:
        third = planned(3)[2]
        ran = rbench_command(
            "run", "roboview-bias", "--agent", f"agents_that_end:{agent}", "-o", f"how={how}",
            "-o", f"at={drawn(third)!r}", "-o", f"trace={tmp_path / 'trace'}", *options,
            "--limit", "8", "--executor", "processes", "--workers", "2",
        )  # fmt: skip
        records = {e.episode: e for e in ran.episodes}
        assert len(records) == len(ran.episodes) == 8
        lost = records.pop(third.id)
        assert all(e.outcome == "failure" for e in records.values())
        return ran, lost

    return run


def begun(tmp_path: Path) -> list[int]:
    """How often each episode was begun."""
    return sorted(collections.Counter((tmp_path / "trace").read_text().splitlines()).values())


@pytest.mark.parametrize("how", ENDINGS)
def test_ending_the_process_in_agent_code_costs_that_episode_and_no_other(
    lose: Callable[..., Any], tmp_path: Path, how: str
) -> None:
    ran, lost = lose(how)
    assert ran.code == 1
    assert (lost.outcome, lost.reason) == ("agent_error", "worker_lost")
    assert ENDINGS[how] in lost.error
    assert "in act()" in lost.error or "act() raised" in lost.error
    assert "agents_that_end:Ends" in lost.error
    assert begun(tmp_path) == [1] * 8


def test_the_phase_in_which_a_worker_was_lost_is_recorded(lose: Callable[..., Any]) -> None:
    _, lost = lose("exit", "-o", "where=reset")
    assert "in reset()" in lost.error
    assert lost.agent["lost"] == {"phase": "agent_reset", "signal": None, "status": 7}


def test_a_lost_episode_has_everything_that_follows_from_the_plan(lose: Callable[..., Any]) -> None:
    ran, lost = lose("kill")
    (other, *_) = (e for e in ran.episodes if e.context == lost.context and e.episode != lost.episode)
    assert lost.jitter == other.jitter
    assert lost.instruction == other.instruction
    assert lost.values.keys() == other.values.keys()
    assert lost.hashes.scene


def test_a_worker_lost_in_the_simulator_is_not_the_agents_fault(lose: Callable[..., Any], tmp_path: Path) -> None:
    ran, lost = lose("world")
    assert ran.code == 1
    assert (lost.outcome, lost.reason) == ("infrastructure_error", "worker_lost")
    assert "in the simulation (exit status 9)" in lost.error
    assert begun(tmp_path) == [1] * 7 + [3]


def test_an_episode_is_tried_again_when_its_worker_was_lost_in_the_simulator(
    lose: Callable[..., Any], tmp_path: Path
) -> None:
    ran, again = lose("world_once")
    assert ran.code == 0
    assert again.outcome == "failure"
    assert begun(tmp_path) == [1] * 7 + [2]


@pytest.mark.gl
def test_a_renderer_that_takes_the_process_down_is_not_the_agents_fault(lose: Callable[..., Any]) -> None:
    _, lost = lose("drawing_exits", agent="Renders")
    assert (lost.outcome, lost.reason) == ("infrastructure_error", "worker_lost")
    assert "while rendering" in lost.error


@pytest.mark.gl
def test_a_renderer_that_fails_is_not_the_agents_fault(
    rbench_command: Callable[..., Any],
    drawn: Callable[..., float],
    planned: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Stage, "draw", Stage.draw)  # put back what the agent spoils
    third = planned(3)[2]
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_that_end:Renders", "-o", "how=drawing_fails",
        "-o", f"at={drawn(third)!r}", "--limit", "3",
    )  # fmt: skip
    (failed,) = (e for e in ran.episodes if e.episode == third.id)
    assert failed.outcome == "infrastructure_error"
    assert "rendering failed: OSError: no more memory on the card" in failed.error


def test_workers_that_cannot_start_stop_the_run(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_that_end:Ends", "-o", "how=exit_in_worker", "-o", "where=init",
        "--limit", "4", "--executor", "processes", "--workers", "2",
    )  # fmt: skip
    assert ran.code == 3
    assert "in the agent's constructor" in ran.err
    assert "exit status 7" in ran.err
    assert f"rbench resume {ran.directory}" in ran.err
    assert ran.manifest["state"] == "stopped"


def test_an_agent_can_stop_the_run(
    rbench_command: Callable[..., Any], drawn: Callable[..., float], planned: Callable[..., Any]
) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_that_end:Ends", "-o", "how=stop",
        "-o", f"at={drawn(planned(5)[4])!r}", "--limit", "8", "--executor", "processes", "--workers", "2",
    )  # fmt: skip
    assert ran.code == 4
    assert "error: the budget is spent" in ran.err
    assert f"rbench resume {ran.directory}" in ran.err
    assert ran.manifest["state"] == "stopped"
    assert {e.outcome for e in ran.episodes} == {"failure"}
