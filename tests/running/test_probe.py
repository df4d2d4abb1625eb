"""What a probe of a few episodes says about a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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


def with_times(record: EpisodeRecord, **timing: float) -> EpisodeRecord:
    return replace(record, timing=timing)


def test_waiting_is_time_in_agent_code_without_the_processor(record: Callable[..., EpisodeRecord]) -> None:
    first, slow = record(), with_times(record(), total=10.0, cpu=1.0, agent=9.5)
    assert Probe(0.0, (first, slow)).waiting == pytest.approx(0.9)


def test_an_agent_that_computes_does_not_wait_on_a_busy_machine(record: Callable[..., EpisodeRecord]) -> None:
    busy = with_times(record(), total=10.0, cpu=5.0, agent=0.1)
    assert Probe(0.0, (busy,)).waiting == pytest.approx(0.01)
    assert Probe(0.0, (record(),)).waiting == 0.0


@pytest.mark.parametrize(
    ("share", "memory", "workers"),
    [(0.0, None, 2), (0.75, None, 8), (1.0, None, 32), (0.75, 5_000, 4), (0.75, 100, 1)],
)
def test_workers_fill_the_cores_and_the_memory(
    record: Callable[..., EpisodeRecord], share: float, memory: int | None, workers: int
) -> None:
    waiting = with_times(record(), total=1.0, cpu=1.0 - share, agent=1.0)
    probe = Probe(0.0, (waiting,), memory=1_000)
    assert probe.useful_workers(cores=2, memory=memory) == workers


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
