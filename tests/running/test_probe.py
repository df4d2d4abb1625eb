"""What a probe of a few episodes says about a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rbench.record import EpisodeRecord, Hashes
from rbench.running.probe import Probe


@pytest.fixture
def record() -> Callable[..., EpisodeRecord]:
    def make(seconds: float = 1.0, report: Any = None) -> EpisodeRecord:
        return EpisodeRecord(
            episode="a/b/c#0", instance="a/b/c", repeat=0, task="t", dimension="a", context="c", levels={}, values={},
            jitter={}, seed=0, outcome="success", reason="goal", success=True, score=1.0, steps=1, sim_seconds=1.0,
            events=(), instruction="", hashes=Hashes("", ""), agent={"report": report}, timing={"total": seconds},
        )  # fmt: skip

    return make


def test_the_likely_time_leaves_the_first_episode_out(record: Callable[..., EpisodeRecord]) -> None:
    probe = Probe(starting=2.0, records=(record(9.0), record(1.0), record(2.0)))
    assert probe.duration(episodes=11, workers=2) == (2.0 + 6 * 1.5, 2.0 + 6 * 1.0, 2.0 + 6 * 9.0)


def test_model_calls_and_cost_are_those_of_the_questions(record: Callable[..., EpisodeRecord]) -> None:
    asked = {"questions": [{"question": "q/1", "cost": 0.02}, {"question": "q/1", "cost": 0.04}]}
    wrapped = {"inner": {"questions": []}}
    probe = Probe(0.0, (record(report=asked), record(report=wrapped)))
    assert probe.calls() == 1.0
    assert probe.cost() == pytest.approx(0.03)


def test_what_no_agent_reports_is_not_known(record: Callable[..., EpisodeRecord]) -> None:
    probe = Probe(0.0, (record(report={"drawn": 1}), record(report=None)))
    assert probe.calls() is None
    assert probe.cost() is None


def test_questions_without_a_price_cost_nobody_knows_what(record: Callable[..., EpisodeRecord]) -> None:
    probe = Probe(0.0, (record(report={"questions": [{"question": "q/1"}]}),))
    assert probe.calls() == 1.0
    assert probe.cost() is None
