"""What a probe of a few episodes says about a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rbench.record import EpisodeRecord, Hashes
from rbench.running.probe import Probe


@pytest.fixture
def record() -> Callable[..., EpisodeRecord]:
    def make(seconds: float = 1.0, vision: Any = None) -> EpisodeRecord:
        return EpisodeRecord(
            episode="a/b/c#0", instance="a/b/c", repeat=0, task="t", dimension="a", context="c", levels={}, values={},
            jitter={}, seed=0, outcome="success", reason="goal", success=True, score=1.0, steps=1, sim_seconds=1.0,
            events=(), instruction="", hashes=Hashes("", ""), timing={"total": seconds},
            agent={"vision": vision} if vision else {},
        )  # fmt: skip

    return make


def test_the_likely_time_leaves_the_first_episode_out(record: Callable[..., EpisodeRecord]) -> None:
    probe = Probe(starting=2.0, records=(record(9.0), record(1.0), record(2.0)))
    assert probe.duration(episodes=11, workers=2) == (2.0 + 6 * 1.5, 2.0 + 6 * 1.0, 2.0 + 6 * 9.0)


def asked(**known: Any) -> dict[str, Any]:
    return {"calls": 2, "tokens_in": None, "tokens_out": None, "cost": None, **known}


def test_calls_tokens_and_cost_are_those_that_the_runner_counted(record: Callable[..., EpisodeRecord]) -> None:
    first, second = (asked(calls=n, tokens_in=100 * n, tokens_out=n, cost=0.01 * n) for n in (1, 3))
    probe = Probe(0.0, (record(vision=first), record(vision=second)))
    assert [probe.asked(key) for key in ("calls", "tokens_in", "tokens_out")] == [2, 200, 2]
    assert probe.asked("cost") == pytest.approx(0.02)


def test_a_run_without_a_vision_model_has_asked_nothing(record: Callable[..., EpisodeRecord]) -> None:
    assert Probe(0.0, (record(),)).asked("calls") is None


def test_what_one_episode_does_not_know_of_its_cost_nobody_knows(record: Callable[..., EpisodeRecord]) -> None:
    probe = Probe(0.0, (record(vision=asked(cost=0.02)), record(vision=asked())))
    assert probe.asked("calls") == 2
    assert probe.asked("cost") is None
