"""Where episodes are lost, counted over records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbench.plugins.catalog import build_catalog
from rbench.record import EpisodeRecord, Hashes
from rbench.reporting.stage_table import StageTally
from rbench.reporting.summary import summarise
from rbench.reporting.terminal import report_text
from rbench.results.run_directory import open_run


def stage_table(records: Iterable[EpisodeRecord]) -> dict[str, Any]:
    tally = StageTally()
    for one in records:
        tally.add(one)
    return tally.table()


def motion(**changes: Any) -> dict[str, Any]:
    good = {"reached": True, "reach_mm": 1.0, "held": True, "slipped": False, "over": True, "release_mm": 4.0}
    return good | changes


def stage(name: str, role: str | None = None, right: bool | None = True, **more: Any) -> dict[str, Any]:
    return {"stage": name, "role": role, "right": right, **more}


def record(truth: dict[str, Any] | None) -> EpisodeRecord:
    success = truth is not None and truth["lost_at"] is None
    return EpisodeRecord(
        episode="a/b/c#0",
        instance="a/b/c",
        repeat=0,
        task="task",
        dimension="a",
        context="c",
        levels={},
        values={},
        jitter={},
        seed=0,
        outcome="success" if success else "failure",
        reason="goal" if success else "done",
        success=success,
        score=0.0,
        steps=1,
        sim_seconds=0.1,
        events=(),
        instruction="",
        hashes=Hashes("", ""),
        agent={} if truth is None else {"truth": truth},
    )


def ended(lost_at: str | None, *stages: dict[str, Any], **moved: Any) -> EpisodeRecord:
    return record({"stages": list(stages), "motion": motion(**moved), "lost_at": lost_at})


DETECTED = stage("detect", "object", error_mm=2.0)
RECORDS = [
    ended(None, DETECTED),
    ended("hold", stage("detect", "object", error_mm=6.0), held=False),
    ended("detect object", stage("detect", "object", False), held=False, reached=False),
    ended("detect", DETECTED, stage("detect", None, None, failed="no_detection:cube"), held=False, reached=False),
    ended("carry", DETECTED, slipped=True),
    ended("settle", DETECTED),
]


def rows(records: list[EpisodeRecord]) -> dict[str, dict[str, Any]]:
    return {row["stage"]: row for row in stage_table(records)["stages"]["stages"]}


def test_agents_that_report_no_stages_have_no_table() -> None:
    assert stage_table([]) == {}
    assert stage_table([record(None)] * 30) == {}


def test_every_lost_episode_is_lost_at_one_stage() -> None:
    table = stage_table(RECORDS)["stages"]
    assert table["episodes"] == 6
    assert table["successes"] == 1
    assert sum(row["lost"] for row in table["stages"]) == 5
    assert {name: row["lost"] for name, row in rows(RECORDS).items() if row["lost"]} == {
        "detect object": 1,
        "detect": 1,
        "hold": 1,
        "carry": 1,
        "settle": 1,
    }


def test_stages_stand_in_their_order_and_the_motion_last() -> None:
    assert list(rows(RECORDS)) == ["detect object", "detect", "reach", "hold", "carry", "release", "settle"]


def test_right_and_wrong_are_counted_with_the_error_of_the_point() -> None:
    row = rows(RECORDS)["detect object"]
    assert (row["episodes"], row["right"], row["wrong"]) == (6, 5, 1)
    assert row["error_mm"] == 2.0
    assert row["error_mm_95"] == pytest.approx(5.2)


def test_who_was_lost_before_never_gets_to_the_motion() -> None:
    found = rows(RECORDS)
    assert [found[name]["episodes"] for name in ("reach", "hold", "carry", "release", "settle")] == [4, 4, 3, 2, 2]
    assert found["settle"]["right"] == 1
    assert found["hold"]["wrong"] == 1


def test_a_failed_stage_tells_its_most_frequent_reason() -> None:
    assert rows(RECORDS)["detect"]["why"] == "no_detection:cube"


def test_the_order_of_the_records_does_not_matter() -> None:
    assert {n: {**r} for n, r in rows(RECORDS[::-1]).items()} == rows(RECORDS)


def test_a_report_shows_the_table_and_has_it_among_the_metrics(make_run: Callable[..., Path]) -> None:
    path = make_run(["success"] * 4)
    with open_run(path).store() as store:
        before = next(iter(store.records()))
    assert "stages" not in summarise(open_run(path), build_catalog())["metrics"]
    truth = {"stages": [DETECTED], "motion": motion(), "lost_at": None}
    summary = summarise(open_run(path), build_catalog())
    agent = {"truth": truth, "report": {"perception": {"segmenter": "sam", "detector": "opencv"}}}
    summary["metrics"] |= stage_table([replace(before, agent=agent)])
    text = report_text([summary])
    assert "where episodes are lost (detector opencv, segmenter sam)" in text
    assert "detect object" in text
