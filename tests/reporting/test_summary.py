"""The report as data: every key from the start, the right denominator, and metrics that may be missing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbench.design import Design
from rbench.interfaces.metric import Convention, Metric, MetricResult
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord
from rbench.reporting.summary import summarise
from rbench.results.run_directory import open_run

MakeRun = Callable[..., Path]
TEN = ["success"] * 6 + ["failure"] * 2 + ["agent_error"] * 2

REPORT_KEYS = {
    "run",
    "agent",
    "wrappers",
    "vision",
    "suite",
    "render",
    "convention",
    "counts",
    "dimensions",
    "average",
    "interactions",
    "metrics",
}
ROW_KEYS = {
    "successes",
    "episodes",
    "success_rate",
    "success_rate_interval",
    "score_mean",
    "cv",
    "cv_floor",
    "cv_floor_interval",
    "p_value",
    "p_main",
    "p_adjusted",
    "cv_debiased",
    "cv_debiased_interval",
    "icc",
    "contexts_used",
    "contexts_total",
    "blocks",
    "dispersion",
    "verdict",
}


class Metrics:
    """Stands in for a catalog that has these metrics."""

    def __init__(self, **metrics: Metric) -> None:
        self.metrics = metrics

    def make(self, kind: str, name: str) -> Metric:
        assert kind == "metric"
        return self.metrics[name]


class Fixed(Metric):
    def __init__(self, result: MetricResult) -> None:
        self.result = result

    def compute(self, episodes: Iterable[EpisodeRecord], design: Design, convention: Convention) -> MetricResult:
        return self.result


class Failing(Metric):
    def compute(self, episodes: Iterable[EpisodeRecord], design: Design, convention: Convention) -> MetricResult:
        raise ZeroDivisionError("by nothing")


def summary(path: Path, catalog: Any, convention: Convention = "default") -> dict[str, Any]:
    result = summarise(open_run(path), catalog, convention)
    json.dumps(result, allow_nan=False)
    return result


@pytest.mark.parametrize("outcomes", [[], TEN, ["failure"] * 28], ids=["nothing yet", "half", "all failed"])
def test_every_key_is_there_from_the_start(make_run: MakeRun, catalog: Catalog, outcomes: list[str]) -> None:
    found = summary(make_run(outcomes), catalog)
    assert found.keys() >= REPORT_KEYS
    assert list(found["dimensions"]) == ["color", "camera-distance"]
    assert all(row.keys() >= ROW_KEYS for row in found["dimensions"].values())
    assert found["average"].keys() >= {"success_rate", "cv"}
    (grid,) = found["interactions"]
    assert grid.keys() >= {"factors", "cv", "iec", "floor", "additivity_p"}
    assert set(grid["iec"]) == {"camera-distance;color", "color;camera-distance"} == set(grid["floor"])
    assert set(grid["cv"]) == {"camera-distance", "color"}
    assert found["problems"] == []


def test_identity_of_the_run(make_run: MakeRun, catalog: Catalog) -> None:
    path = make_run(TEN)
    found = summary(path, catalog, "paper")
    expected = {
        "run": str(path),
        "agent": "expert",
        "privileged": True,
        "wrappers": [],
        "vision": None,
        "suite": "tiny-suite",
        "render": "standard",
        "convention": "paper",
        "state": "finished",
    }
    assert {key: found[key] for key in expected} == expected


def test_agent_errors_stay_in_the_denominator(make_run: MakeRun, catalog: Catalog) -> None:
    found = summary(make_run([*TEN, "unstable", "infrastructure_error"]), catalog)
    assert found["counts"] == {
        "planned": 28,
        "done": 11,
        "missing": 17,
        "success": 6,
        "failure": 2,
        "agent_error": 2,
        "unstable": 1,
        "infrastructure_error": 1,
    }
    assert sum(row["episodes"] for row in found["dimensions"].values()) == 11
    assert found["dimensions"]["color"]["success_rate"] == 6 / 8
    assert found["counted_outcomes"] == ["success", "failure", "agent_error", "unstable"]
    assert not found["clean"]


@pytest.mark.parametrize(
    ("outcomes", "complete", "clean"),
    [
        (["success"] * 28, True, True),
        (["failure"] * 28, True, True),
        (["success"] * 27, False, True),
        (["success"] * 27 + ["agent_error"], True, False),
        (["success"] * 27 + ["infrastructure_error"], False, False),
    ],
)
def test_complete_and_clean(
    make_run: MakeRun, catalog: Catalog, outcomes: list[str], complete: bool, clean: bool
) -> None:
    found = summary(make_run(outcomes), catalog)
    assert (found["complete"], found["clean"]) == (complete, clean)


def test_convention_reaches_the_metric(make_run: MakeRun, catalog: Catalog) -> None:
    path = make_run(["success", "success", "success", "failure"] * 7)
    default, paper = (
        summary(path, catalog, convention)["dimensions"]["color"]["cv"] for convention in ("default", "paper")
    )
    assert paper == 32.89
    assert default == pytest.approx(32.8947368)


def test_a_missing_metric_costs_its_numbers_only(make_run: MakeRun, catalog: Catalog) -> None:
    found = summary(make_run(TEN, metrics=("bias-typo",)), catalog)
    assert found["counts"]["success"] == 6
    row = found["dimensions"]["color"]
    assert (row["successes"], row["episodes"], row["cv"]) == (6, 8, None)
    (problem,) = found["problems"]
    assert "'bias-typo'" in problem
    assert "list-plugins" in problem


def test_a_failing_metric_costs_its_numbers_only(make_run: MakeRun) -> None:
    row = MetricResult(dimensions={"color": {"cv": 1.0}})
    found = summary(make_run(TEN, metrics=("bad", "good")), Metrics(bad=Failing(), good=Fixed(row)))
    assert found["problems"] == ["metric 'bad' failed with ZeroDivisionError: by nothing; tell its author"]
    assert found["dimensions"]["color"]["cv"] == 1.0


class Ending(Metric):
    def compute(self, episodes: Iterable[EpisodeRecord], design: Design, convention: Convention) -> MetricResult:
        os._exit(0)


def _deep(levels: int) -> list[Any]:
    return [] if levels == 0 else [_deep(levels - 1)]


ILL_FORMED: dict[str, tuple[Any, str]] = {
    "nothing": (None, "NoneType, not a MetricResult"),
    "an object": (MetricResult(extra={"it": object()}), "no plain form"),
    "a key that is no text": (MetricResult(extra={"a": [{1: 2}]}), "key 1 is no text"),
    "too deep": (MetricResult(extra={"deep": [_deep(900)] * 2}), "RecursionError"),
    "a row of nothing": (MetricResult(dimensions={"colour": {}}), "'colour', which is no single dimension"),
    "a text for a number": (MetricResult(dimensions={"color": {"cv": "<b>"}}), "cv in the row of 'color' is '<b>'"),
    "half an interval": (MetricResult(average={"cv_floor_interval": [1.0]}), "cv_floor_interval in the average"),
    "a grid of nothing": (MetricResult(interactions=[{"factors": ["a", "b"]}]), "no grid of the suite"),
    "texts in a grid": (
        MetricResult(interactions=[{"factors": ("camera-distance", "color"), "iec": {"a;b": "x"}}]),
        "iec of an interaction",
    ),
}


@pytest.mark.parametrize(("result", "problem"), ILL_FORMED.values(), ids=ILL_FORMED)
def test_what_no_report_can_print_costs_its_metric_only(make_run: MakeRun, result: Any, problem: str) -> None:
    good = Fixed(MetricResult(dimensions={"color": {"cv": 1.0}}))
    found = summary(make_run(TEN, metrics=("bad", "good")), Metrics(bad=Fixed(result), good=good))
    (said,) = found["problems"]
    assert said.startswith("metric 'bad' failed with ")
    assert problem in said
    assert found["dimensions"]["color"]["cv"] == 1.0


def test_a_metric_cannot_end_the_report(make_run: MakeRun) -> None:
    end = os._exit
    found = summary(make_run(TEN, metrics=("bad",)), Metrics(bad=Ending()))
    assert found["problems"] == ["metric 'bad' failed with SystemExit: 0; tell its author"]
    assert os._exit is end


def test_tables_of_several_metrics_are_joined(make_run: MakeRun) -> None:
    one = MetricResult(dimensions={"color": {"cv": float("nan")}}, average={"cv": 3.0}, extra={"eps": 0.01})
    two = MetricResult(
        dimensions={"color": {"smoothness": 2.0}},
        interactions=[{"factors": ("camera-distance", "color"), "additivity_p": 0.5}],
        average={"smoothness": 2.0},
    )
    found = summary(make_run(TEN, metrics=("one", "two")), Metrics(one=Fixed(one), two=Fixed(two)))
    assert (found["dimensions"]["color"]["cv"], found["dimensions"]["color"]["smoothness"]) == (None, 2.0)
    assert found["average"] == {"success_rate": None, "cv": 3.0, "smoothness": 2.0}
    assert [grid["additivity_p"] for grid in found["interactions"]] == [0.5]
    assert found["metrics"] == {"one": {"eps": 0.01}, "two": {}}


def test_a_dimension_that_the_agent_does_not_look_at_says_so(make_run: MakeRun, catalog: Catalog) -> None:
    found = summary(make_run(TEN, unseen=("camera-distance",)), catalog)
    assert found["dimensions"]["camera-distance"]["verdict"] == "not seen"
    assert found["dimensions"]["color"]["verdict"] == "not resolved"


def test_dimensions_that_were_not_planned_do_not_spoil_the_average(make_run: MakeRun, catalog: Catalog) -> None:
    outcomes = ["success", "success", "success", "failure"] * 2
    design = open_run(make_run([], "all")).manifest.design
    planned = {dimension.name: 8 if dimension.name == "color" else 0 for dimension in design.dimensions}
    found = summary(make_run(outcomes, design=replace(design, planned=planned), planned=8), catalog)
    assert found["complete"]
    assert found["average"]["success_rate"] == 0.75
    assert found["average"]["cv"] == pytest.approx(32.8947368)
