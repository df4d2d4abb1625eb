"""The metric on records: what counts, what is missing, and that order does not matter."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from rbench.design import Design, Dimension
from rbench.errors import UsageError
from rbench_metric_bias.bias import Bias, Options
from rbench_metric_bias.outcomes import tabulate


def row(records: Any, design: Design, dimension: str = "color") -> dict[str, Any]:
    return dict(Bias().compute(records, design, "default").dimensions[dimension])


def one_dimension(repeats: int = 1, levels: tuple[str, ...] = ("red", "blue")) -> Design:
    return Design("study", (Dimension("color", {"color": levels}, ("base",), repeats),), (), {})


def test_row_of_a_complete_dimension(study: Any) -> None:
    records, design = study({"color": [[5, 0], [3, 3]]})
    # Successes of two a block: five times 1 in the first context; 2, 2, 2, 0, 0 around 1.2 in the second. t of 8.
    half = 2.306004 * (5 / 4 * (3 * 0.8**2 + 2 * 1.2**2) / 20**2) ** 0.5
    # Variance inside cells 0, 0, 0.3, 0.3; of coin flips at the context's rate 25/90 and 24/90.
    dispersion = 0.6 / (2 * 25 / 90 + 2 * 24 / 90)
    found = row(records, design)
    expected = {
        "successes": 11,
        "episodes": 20,
        "episodes_missing": 0,
        "cells": 4,
        "cells_incomplete": 0,
        "success_rate": 0.55,
        "success_rate_interval": pytest.approx((0.55 - half, 0.55 + half), abs=1e-6),
        "score_mean": 0.55,
        "cv": pytest.approx((100 * 0.5 / 0.51 + 0.0) / 2),
        "contexts_used": 2,
        "contexts_total": 2,
        "blocks": 10,
        "dispersion": pytest.approx(dispersion),
        "repeats_are_copies": False,
    }
    assert {key: found[key] for key in expected} == expected


def test_every_outcome_of_the_denominator_counts(make_record: Any) -> None:
    outcomes = ["success"] * 6 + ["failure"] * 2 + ["agent_error"] * 2 + ["unstable", "infrastructure_error"]
    records = [make_record(repeat=i, outcome=outcome, color="red") for i, outcome in enumerate(outcomes)]
    found = row(records, one_dimension(repeats=12))
    assert (found["successes"], found["episodes"]) == (6, 11)
    assert found["success_rate"] == 6 / 11


def test_order_of_records_does_not_matter(study: Any, orders: Any) -> None:
    counts = np.random.default_rng(0).integers(0, 4, size=(4, 7))
    grid = np.random.default_rng(1).integers(0, 4, size=(1, 5, 4))
    records, design = study({"color": counts, "camera-pose+color": grid}, repeats=3)
    scored = [replace(record, score=0.1 + 0.07 * (i % 11)) for i, record in enumerate(records)]
    expected = Bias().compute(scored, design, "paper")
    for order in orders(scored):
        assert Bias().compute(order, design, "paper") == expected


def test_order_of_tasks_does_not_matter(make_record: Any, orders: Any) -> None:
    records = [
        make_record(
            task=task, repeat=repeat, color=color, outcome="success" if task == "b" or color == "red" else "failure"
        )
        for task in ("b", "a")
        for color in ("red", "blue")
        for repeat in (0, 1)
    ]
    expected = row(records, one_dimension(repeats=2))
    assert (expected["contexts_total"], expected["blocks"]) == (2, 4)
    assert expected["cv"] == pytest.approx(100 * 0.5 / 0.51 / 2)
    for order in orders(records):
        assert row(order, one_dimension(repeats=2)) == expected


def test_cell_with_missing_repeats_uses_what_is_there(study: Any) -> None:
    records, design = study({"color": [[5, 5, 0]]})
    kept = [r for r in records if not (r.levels["color"] == "c0" and r.repeat > 1)]
    found = row(kept, design)
    assert found["cv"] == row(records, design)["cv"]
    assert (found["episodes"], found["episodes_missing"], found["cells_incomplete"]) == (12, 3, 1)


def test_level_without_episodes_in_a_context_is_left_out_there(study: Any) -> None:
    records, design = study({"color": [[5, 1, 3]]})
    without = [r for r in records if r.levels["color"] != "c2"]
    expected, expected_design = study({"color": [[5, 1]]})
    assert row(without, design)["cv"] == row(expected, expected_design)["cv"]


def test_nothing_yet_gives_nulls_never_nan(study: Any) -> None:
    _, design = study({"color": [[1, 1]], "camera-pose+color": [[[1, 1], [1, 1]]]})
    result = Bias().compute([], design, "default")
    found = result.dimensions["color"]
    nulls = ("success_rate", "success_rate_interval", "score_mean", "cv", "dispersion", "cv_floor", "p_value", "p_main")
    nulls += ("p_adjusted", "cv_debiased", "cv_debiased_interval", "icc", "verdict")
    assert [found[key] for key in nulls] == [None] * len(nulls)
    assert (found["episodes"], found["episodes_missing"], found["contexts_used"], found["blocks"]) == (0, 10, 0, 0)
    assert result.average == {"success_rate": None, "cv": None, "cv_debiased": None}
    json.dumps([result.dimensions, result.interactions, result.average, result.extra], allow_nan=False)


def test_average_is_over_the_planned_dimensions(study: Any) -> None:
    records, design = study({"color": [[5, 0]], "distance": [[0, 0]], "camera-euler": [[2, 2]]})
    planned = replace(design, planned={"color": 10, "distance": 10, "camera-euler": 0})
    average = Bias().compute(records, planned, "default").average
    assert (average["success_rate"], average["cv"]) == (0.25, None)


def test_grid_reports_both_directions(study: Any) -> None:
    records, design = study({"camera-pose+color": [[[5, 0, 0], [5, 5, 5]]]})
    (table,) = Bias(Options(eps=0)).compute(records, design, "default").interactions
    assert table["factors"] == ["camera-pose", "color"]
    # Rows (poses) have colour CVs of sqrt(2) and 0; columns (colours) have pose CVs of 0, 1 and 1.
    assert table["cv"] == {"camera-pose": pytest.approx(200 / 3), "color": pytest.approx(50 * 2**0.5)}
    assert table["iec"] == {"camera-pose;color": pytest.approx(50 * 2**0.5), "color;camera-pose": pytest.approx(100.0)}
    assert (table["successes"], table["episodes"]) == (20, 30)
    assert table["rows_left_out"] == {"camera-pose;color": 0, "color;camera-pose": 0}


def test_grid_is_no_row_among_dimensions(study: Any) -> None:
    records, design = study({"color": [[5, 0]], "camera-pose+color": [[[5, 0], [5, 5]]]})
    result = Bias().compute(records, design, "default")
    assert list(result.dimensions) == ["color"]
    assert result.average["success_rate"] == 0.5


def test_record_outside_the_design_is_named(make_record: Any) -> None:
    with pytest.raises(UsageError, match=r"color/green/base#0.*'green' is not in the design of suite 'study'"):
        row([make_record(color="green")], one_dimension())


def test_unknown_option_is_refused() -> None:
    with pytest.raises(ValidationError, match="epsilon"):
        Options.model_validate({"epsilon": 0.1})


def test_order_of_levels_and_contexts_in_the_design_does_not_matter(study: Any) -> None:
    counts = np.random.default_rng(0).integers(0, 6, size=(3, 7))
    grid = np.random.default_rng(1).integers(0, 6, size=(1, 5, 4))
    records, design = study({"color": counts, "camera-pose+color": grid})
    turned = replace(
        design,
        dimensions=tuple(
            replace(d, levels={f: names[::-1] for f, names in d.levels.items()}, contexts=d.contexts[::-1])
            for d in design.dimensions
        ),
        contexts=design.contexts[::-1],
    )
    assert Bias().compute(records, turned, "default") == Bias().compute(records, design, "default")


def test_every_analysis_of_the_same_records_gives_the_same_numbers(study: Any) -> None:
    records, design = study({"color": np.random.default_rng(0).integers(0, 6, size=(3, 7))})
    assert Bias().compute(records, design, "default") == Bias().compute(iter(records), design, "default")


def test_independent_seeds_bring_their_own_estimators(study: Any) -> None:
    records, design = study({"color": [[5, 2, 2], [4, 2, 1]], "camera-pose+color": [[[5, 2], [1, 3], [4, 4]]]})
    independent = replace(design, seeds="independent")
    result = Bias(Options(bootstrap=99)).compute(records, independent, "default")
    found = result.dimensions["color"]
    assert found["independent_cells"].keys() == {"cv_interval", "cv_pooled_interval", "icc_interval"}
    assert found["cv_debiased"] != row(records, design)["cv_debiased"]
    assert row(records, design)["independent_cells"] is None
    (grid,) = result.interactions
    assert grid["additivity_test"] == "Pearson"
    json.dumps([result.dimensions, result.interactions], allow_nan=False)


def test_memory_grows_by_bytes_a_record_not_by_records(make_record: Any) -> None:
    names = tuple(f"c{i:03d}" for i in range(100))
    design = one_dimension(repeats=100, levels=names)
    stream = (make_record("color", "base", repeat, color=name) for repeat in range(100) for name in names)
    tracemalloc.start()
    try:
        table = tabulate(stream, design)["color"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert table.episodes.sum() == 10_000
    assert peak < 10_000 * 250


def test_unfinished_runs_have_an_answer_for_everything(study: Any) -> None:
    records, design = study({"color": [[5, 0, 2], [4, 1, 3]], "camera-pose+color": [[[5, 2], [1, 3], [4, 4]]]})
    shuffled = [records[i] for i in np.random.default_rng(3).permutation(len(records))]
    for count in (1, 2, 5, 11, 23, 40):
        result = Bias(Options(permutations=99, bootstrap=99)).compute(shuffled[:count], design, "default")
        json.dumps([result.dimensions, result.interactions, result.average, result.extra], allow_nan=False)
        assert result.dimensions["color"]["episodes"] + result.interactions[0]["episodes"] == count
