"""Ctrl-C and SIGTERM: nothing that is on disk is lost, nothing keeps running, and the way on is told."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import pytest

ARGUMENTS = ["run", "roboview-bias", "--agent", "agents_that_end:Traced", "-o", "pause=0.1", "--limit", "300"]

WAYS = {
    "SIGINT": ([signal.SIGINT], False, 130),
    "SIGINT to the group, as Ctrl-C in a terminal": ([signal.SIGINT], True, 130),
    "SIGINT twice": ([signal.SIGINT, signal.SIGINT], False, 130),
    "SIGINT twice to the group": ([signal.SIGINT, signal.SIGINT], True, 130),
    "SIGTERM": ([signal.SIGTERM], False, 143),
    "SIGTERM to the group": ([signal.SIGTERM], True, 143),
}


def wait_until_gone(started: Any, seconds: float) -> list[int]:
    deadline = time.monotonic() + seconds
    while (left := started.left()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupted_run_keeps_what_it_has_and_says_how_to_go_on(start_rbench: Callable[..., Any], way: str) -> None:
    numbers, group, code = WAYS[way]
    started = start_rbench(*ARGUMENTS, "--workers", "2")
    started.wait_for(3)
    for number in numbers:
        started.end(number, group)
        time.sleep(0.1)
    ran = started.ended()
    assert ran.code == code, ran.err
    assert wait_until_gone(started, 10) == []
    episodes = ran.episodes
    assert len({e.episode for e in episodes}) == len(episodes) >= 3
    assert {e.outcome for e in episodes} == {"failure"}
    assert f"go on with: rbench resume {ran.directory}" in ran.err
    assert f"{len(episodes)} of 300 episodes are on disk" in ran.err
    assert "Traceback" not in ran.err
    assert ran.manifest["state"] == "interrupted"
    assert sqlite3.connect(ran.directory / "episodes.sqlite").execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_serial_run_is_interrupted_alike(start_rbench: Callable[..., Any]) -> None:
    started = start_rbench(*ARGUMENTS, "--executor", "serial")
    started.wait_for(2)
    started.end(signal.SIGINT)
    ran = started.ended()
    assert ran.code == 130
    assert ran.manifest["state"] == "interrupted"
    assert f"rbench resume {ran.directory}" in ran.err


def test_an_interrupt_before_the_first_episode_is_resumable_too(start_rbench: Callable[..., Any]) -> None:
    started = start_rbench(*ARGUMENTS, "--workers", "2")
    while not (started.directory / "manifest.json").exists():
        assert started.process.poll() is None
        time.sleep(0.01)
    started.end(signal.SIGINT, group=True)
    ran = started.ended()
    assert ran.code == 130, ran.err
    assert wait_until_gone(started, 10) == []


def test_an_agent_that_will_not_end_is_ended(start_rbench: Callable[..., Any]) -> None:
    started = start_rbench(
        "run", "roboview-bias", "--agent", "agents_that_end:Stubborn", "--limit", "4", "--workers", "2"
    )
    started.wait_for(1)
    started.end(signal.SIGINT)
    assert started.ended().code == 130  # by itself it would never end
    assert wait_until_gone(started, 10) == []


def test_workers_end_at_once_with_a_run_that_is_killed(start_rbench: Callable[..., Any]) -> None:
    started = start_rbench(*ARGUMENTS, "--workers", "2")
    started.wait_for(1)
    assert len(started.left()) >= 3
    started.end(signal.SIGKILL)
    assert wait_until_gone(started, 10) == []
    assert started.ended().code == -signal.SIGKILL


def test_time_in_which_a_run_is_stopped_does_not_count_against_its_episodes(start_rbench: Callable[..., Any]) -> None:
    agent = ["--agent", "agents_that_end:Traced", "-o", "pause=3", "--limit", "2", "--workers", "2"]
    started = start_rbench("run", "roboview-bias", *agent, "--episode-limit", "10")
    while len(started.left()) < 4:  # the run, its guardian and two workers
        time.sleep(0.05)
    time.sleep(2)
    stopped = started.left()
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    time.sleep(11)
    for process in stopped:
        os.kill(process, signal.SIGCONT)
    ran = started.ended()
    assert ran.code == 0, ran.err
    assert [e.outcome for e in ran.episodes] == ["failure"] * 2
