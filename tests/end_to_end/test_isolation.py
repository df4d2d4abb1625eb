"""Whatever an agent does to its process costs one episode at most, and its record says where that was."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.running.executors import processes, worker_process

pytestmark = pytest.mark.gl

#: Seconds: more than an ordinary episode takes on a machine that does much else.
LIMIT = "8"


@pytest.fixture
def misbehave(
    rbench_command: Callable[..., Any], drawn: Callable[..., float], planned: Callable[..., Any], tmp_path: Path
) -> Callable[..., Any]:
    """Runs 6 episodes with 2 workers; in the third of the plan the agent does `how`. Returns the run and that record.

    All others must be as if nothing had happened.
    """

    def run(how: str, *words: str) -> Any:
        third = planned(3)[2]
        ran = rbench_command(
            "run", "roboview-bias", "--agent", "agents_that_misbehave:Misbehaves", "-o", f"how={how}",
            "-o", f"at={drawn(third)!r}", "-o", f"trace={tmp_path / 'trace'}", *words,
            "--limit", "6", "--executor", "processes", "--workers", "2",
        )  # fmt: skip
        assert ran.directory.exists(), ran.err
        records = {e.episode: e for e in ran.episodes}
        assert len(records) == 6, ran.err
        one = records.pop(third.id)
        assert [(e.outcome, e.error) for e in records.values()] == [("failure", None)] * 5
        return ran, one

    return run


@pytest.mark.parametrize(("how", "where"), [("hang_in_c", "act"), ("deaf", "report")])
def test_an_agent_that_hangs_costs_its_episode(misbehave: Callable[..., Any], how: str, where: str) -> None:
    ran, hung = misbehave(how, "-o", f"where={where}", "--episode-limit", LIMIT)
    assert ran.code == 1
    assert (hung.outcome, hung.reason) == ("agent_error", "hang")
    assert f"in {where}()" in hung.error
    assert f"no end after {LIMIT} s, the --episode-limit" in hung.error
    assert "agents_that_misbehave:Misbehaves" in hung.error
    assert hung.agent["lost"] == {"phase": f"agent_{where}", "signal": "SIGKILL", "status": None, "limit": float(LIMIT)}
    assert hung.timing["total"] >= float(LIMIT)


def test_rendering_that_never_returns_is_tried_again_and_is_not_the_agents_fault(
    misbehave: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "ATTEMPTS", 2)  # of three, to save time
    ran, hung = misbehave("drawing_hangs", "--episode-limit", LIMIT)
    assert ran.code == 1
    assert (hung.outcome, hung.reason) == ("infrastructure_error", "hang")
    assert "while rendering" in hung.error
    begun = (tmp_path / "trace").read_text().splitlines()
    assert max(begun.count(each) for each in begun) == 2


def test_using_up_the_memory_costs_the_episode(misbehave: Callable[..., Any]) -> None:
    ran, lost = misbehave("allocate", "-o", "amount=900", "--worker-memory", "700")
    assert ran.code == 1
    assert (lost.outcome, lost.reason) == ("agent_error", "memory")
    assert "more than 700 MB used, the --worker-memory" in lost.error
    assert "in act()" in lost.error


def test_a_worker_that_is_slow_to_end_when_it_is_killed_holds_nothing_up(
    misbehave: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "LAST_PATIENCE", 0.0)  # so that any worker is
    _, lost = misbehave("allocate", "-o", "amount=900", "--worker-memory", "700")
    assert (lost.outcome, lost.reason) == ("agent_error", "memory")
    deadline = time.monotonic() + 60
    while any(process.poll() is None for process in worker_process._DYING):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_worker_that_leaks_memory_is_replaced_before_it_costs_an_episode(misbehave: Callable[..., Any]) -> None:
    ran, leaking = misbehave("leak_memory", "-o", "always=true", "-o", "amount=250", "--worker-memory", "1200")
    assert ran.code == 0, ran.err
    assert leaking.outcome == "failure"
    assert len({e.agent["report"]["pid"] for e in ran.episodes}) == 2


@pytest.fixture
def leaking_alone(rbench_command: Callable[..., Any]) -> Callable[..., Any]:
    """Eight episodes one after the other in a worker; the agent does `how` in each."""

    def run(how: str, *words: str) -> Any:
        return rbench_command(
            "run", "roboview-bias", "--agent", "agents_that_misbehave:Misbehaves", "-o", f"how={how}",
            "-o", "always=true", *words, "--limit", "8", "--executor", "processes", "--workers", "1",
        )  # fmt: skip

    return run


@pytest.mark.parametrize(
    ("how", "words"),
    [("leak_memory", ["-o", "amount=200", "--worker-memory", "1200"]), ("leak_files", ["-o", "amount=200"])],
)
def test_what_leaks_is_replaced_between_episodes(leaking_alone: Callable[..., Any], how: str, words: list[str]) -> None:
    ran = leaking_alone(how, *words)
    assert ran.code == 0, ran.err
    pids = [e.agent["report"]["pid"] for e in ran.episodes]
    assert len(set(pids)) > 1
    assert {e.outcome for e in ran.episodes} == {"failure"}


def test_an_agent_that_leaks_nothing_keeps_its_worker(leaking_alone: Callable[..., Any]) -> None:
    ran = leaking_alone("disturb_nothing", "-o", "where=init")
    assert ran.code == 0, ran.err
    assert len({e.agent["report"]["pid"] for e in ran.episodes}) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the score is Linux's")
def test_the_system_would_take_a_worker_before_the_run(leaking_alone: Callable[..., Any]) -> None:
    (score,) = {e.agent["report"]["oom"] for e in leaking_alone("disturb_nothing").episodes}
    assert score == min(1000, int(Path("/proc/self/oom_score_adj").read_text()) + 500)


def test_closing_descriptors_that_are_not_its_own_costs_no_other_episode(misbehave: Callable[..., Any]) -> None:
    _, spoiled = misbehave("close_low")
    assert spoiled.outcome in ("failure", "agent_error")


def test_closing_the_connection_to_the_run_is_the_agents_fault(misbehave: Callable[..., Any]) -> None:
    ran, cut = misbehave("close_all")
    assert ran.code == 1
    assert (cut.outcome, cut.reason) == ("agent_error", "worker_lost")
    assert "closed file descriptors" in cut.error


def test_what_an_agent_changes_of_its_process_is_put_back(misbehave: Callable[..., Any]) -> None:
    ran, _ = misbehave("disturb", "-o", "where=reset")
    assert ran.code == 0, ran.err
    # `report` is still part of the episode that disturbed.
    folders = sorted(e.agent["report"]["folder"] for e in ran.episodes)
    assert folders == ["", *["end_to_end"] * 5]


def test_reading_an_image_in_a_thread_costs_that_episode_and_names_the_agent(misbehave: Callable[..., Any]) -> None:
    ran, misread = misbehave("read_in_thread")
    assert ran.code == 1
    assert misread.outcome == "agent_error"
    assert "agents_that_misbehave:Misbehaves" in misread.error
    assert "camera 'front' was first read in a thread of the agent's own" in misread.error


def test_a_worker_that_never_gets_ready_is_not_waited_for(
    rbench_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "FAILED_STARTS", 1)
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_that_misbehave:Misbehaves", "-o", "how=hang_in_worker",
        "-o", "where=init", "--start-limit", LIMIT, "--limit", "4", "--executor", "processes", "--workers", "1",
    )  # fmt: skip
    assert ran.code == 3
    assert "agents_that_misbehave:Misbehaves" in ran.err
    assert f"not ready after {LIMIT} s, the --start-limit" in ran.err
    assert "in the agent's constructor" in ran.err
    assert f"rbench resume {ran.directory}" in ran.err
