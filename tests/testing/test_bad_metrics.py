"""Metrics with one thing wrong each are caught by the checks that say so, and by no other."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.testing.kinds import checks_of
from rbench.testing.studies import LARGE, ODD, hostile, large, large_design, odd, ordinary

HERE = Path(__file__).resolve().parent
#: Checks that take seconds: run where they are expected to fail, and on the blameless.
SLOW = {"scale", "same-in-another-process"}


def expected() -> dict[str, set[str]]:
    spec = importlib.util.spec_from_file_location("bad_metrics_table", HERE / "bad_metrics.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found: dict[str, set[str]] = module.EXPECTED
    return found


EXPECTED = expected()


def failed(found: dict[str, Any]) -> set[str]:
    return {name for name, result in found.items() if result.status == "failed"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_metric_is_caught_by_the_named_checks_and_no_other(results: Callable[..., Any], name: str) -> None:
    found = results(f"metric:bad_metrics:{name}", without=tuple(SLOW - EXPECTED[name]))
    assert failed(found) == EXPECTED[name], {check: found[check].detail for check in failed(found)}
    assert all(found[check].detail and found[check].remedy for check in failed(found))


@pytest.mark.parametrize("name", ["Blameless", "Compares"])
def test_what_is_blameless_passes_every_check(results: Callable[..., Any], name: str) -> None:
    found = results(f"metric:bad_metrics:{name}")
    assert {check for check, result in found.items() if result.status != "ok"} == set()


def test_every_check_but_that_of_options_catches_some_metric() -> None:
    caught = set().union(*EXPECTED.values())
    assert {check.name for check in checks_of("metric")} - caught == {"options"}


def test_what_differs_is_told_by_its_place_and_both_values(results: Callable[..., Any]) -> None:
    detail = results("metric:bad_metrics:RemembersRuns", "repeatable")["repeatable"].detail
    assert "extra.runs (1 and 3)" in detail


def test_the_ordinary_study_has_every_outcome_and_the_odd_ones_are_what_they_are_called() -> None:
    assert len({record.outcome for record in ordinary().records}) == 5
    studies = {name: odd(name) for name in ODD}
    assert [len(studies[name].records) for name in ("no-episodes", "one-episode")] == [0, 1]
    assert {record.dimension for record in studies["missing-dimension"].records} == {"color"}
    assert {record.outcome for record in studies["all-errors"].records} == {"agent_error"}
    assert not any(record.counted for record in studies["nothing-counted"].records)
    assert {d.repeats for d in studies["single-block"].design.dimensions} == {1}


def test_hostile_texts_stand_in_every_place_for_names_and_texts() -> None:
    study = hostile()
    assert {text for record in study.records for text in record.levels.values()} >= {
        "=1+1",
        "a/b;c+d",
        "\x1b[2J\r\n\x00",
    }
    assert {record.instruction for record in study.records} >= {"nan", "{0.__class__}"}


def test_the_large_study_has_a_hundred_thousand_records_of_its_design() -> None:
    (dimension,) = large_design().dimensions
    assert dimension.cells * len(dimension.contexts) * dimension.repeats == LARGE
    first = next(iter(large()))
    assert first.levels["color"] in dimension.levels["color"]
