"""The progress line."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from rbench.cli.durations import duration
from rbench.cli.progress import LIVE_INTERVAL, PLAIN_INTERVAL, RunProgress, success_interval
from rbench.record import EpisodeRecord, Hashes, Outcome
from rbench.running.executors import Waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def record() -> Callable[..., EpisodeRecord]:
    def make(outcome: Outcome = "success") -> EpisodeRecord:
        return EpisodeRecord(
            episode="a/b/c#0", instance="a/b/c", repeat=0, task="t", dimension="a", context="c", levels={}, values={},
            jitter={}, seed=0, outcome=outcome, reason="", success=outcome == "success", score=1.0, steps=1,
            sim_seconds=1.0, events=(), instruction="", hashes=Hashes("", ""),
            timing={"total": 1.0, "world": 0.5, "reset": 0.1, "render": 0.2, "agent": 0.15},
        )  # fmt: skip

    return make


def test_the_line_holds_what_one_wants_to_know(record: Callable[..., EpisodeRecord]) -> None:
    clock = Clock()
    progress = RunProgress(200, {"success": 8, "infrastructure_error": 3}, io.StringIO(), clock)
    for outcome in ("success", "failure", "agent_error", "infrastructure_error"):
        clock.now += 2.0
        progress.advance(record(outcome))
    # Errors of infrastructure that were there before run again, so they are not done.
    assert progress.line() == "12/200 episodes  30.0/min  6 min 16 s left  success 9/11 [52, 95] %  errors 2"


def test_a_file_gets_a_line_now_and_then(record: Callable[..., EpisodeRecord]) -> None:
    clock, stream = Clock(), io.StringIO()
    with RunProgress(100, {}, stream, clock) as progress:
        for _ in range(10):
            clock.now += PLAIN_INTERVAL / 4
            progress.advance(record())
    lines = stream.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["4/100", "8/100", "10/100"]
    assert "\r" not in stream.getvalue()


def test_a_terminal_gets_one_line_that_changes(
    record: Callable[..., EpisodeRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    clock, stream = Clock(), Terminal()
    with RunProgress(4, {}, stream, clock) as progress:
        for _ in range(4):
            clock.now += LIVE_INTERVAL
            progress.advance(record())
    states = stream.getvalue().split("\r\x1b[2K")
    assert all(len(state) < 40 for state in states[:-1])
    assert states[1].startswith("[....................] 0/4")
    assert states[-1].startswith("4/4 episodes")
    assert stream.getvalue().count("\n") == 1


def test_what_is_waited_for_is_in_the_live_line_until_it_is_over(record: Callable[..., EpisodeRecord]) -> None:
    clock, stream = Clock(), Terminal()
    with RunProgress(100, {}, stream, clock) as progress:
        clock.now = 45.0
        progress.waiting((Waiting(3, "in act()", 12.0), Waiting(2, "rendering", 45.0)))
        assert "] worker 2: rendering for 45 s (and 1 more)  0/100" in stream.getvalue().split("\r")[-1]
        clock.now += 1.0
        progress.waiting(())
        assert stream.getvalue().split("\r")[-1].endswith("] 0/100 episodes")


def test_a_file_gets_a_line_a_minute_about_what_is_waited_for() -> None:
    clock, stream = Clock(), io.StringIO()
    with RunProgress(100, {}, stream, clock) as progress:
        for seconds in range(10, 200):
            clock.now = float(seconds)
            progress.waiting((Waiting(2, "in act()", float(seconds)),))
    assert stream.getvalue().splitlines() == [
        "worker 2: in act() for 10 s",
        "worker 2: in act() for 1 min 10 s",
        "worker 2: in act() for 2 min 10 s",
        "worker 2: in act() for 3 min 10 s",
    ]


def test_the_rate_follows_a_run_that_turns_slow(record: Callable[..., EpisodeRecord]) -> None:
    clock = Clock()
    progress = RunProgress(1000, {}, io.StringIO(), clock)
    for seconds in [0.1] * 100 + [10.0] * 60:
        clock.now += seconds
        progress.advance(record())
    assert "6.0/min" in progress.line()


def test_mean_times_add_up(record: Callable[..., EpisodeRecord]) -> None:
    progress = RunProgress(2, {}, io.StringIO(), Clock())
    assert progress.times_line() is None
    progress.advance(record())
    progress.advance(record())
    assert progress.times_line() == (
        "mean seconds an episode: 1.000"
        " (physics and control 0.500, rendering 0.200, agent 0.150, reset 0.100, other 0.050)"
    )


@pytest.mark.parametrize(
    ("successes", "episodes", "low", "high"), [(0, 5, 0.0, 0.434), (5, 5, 0.566, 1.0), (6, 24, 0.120, 0.449)]
)
def test_few_episodes_have_wide_intervals(successes: int, episodes: int, low: float, high: float) -> None:
    assert success_interval(successes, episodes) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (3599.7, "1 h"),
        (7500, "2 h 5 min"),
        (86400, "1 d"),
        (3 * 86400 + 4 * 3600, "3 d 4 h"),
    ],
)
def test_durations_are_said_as_people_do(seconds: float, words: str) -> None:
    assert duration(seconds) == words
