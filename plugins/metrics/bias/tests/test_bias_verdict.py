"""Holm's adjustment and the verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rbench_metric_bias.bias import Bias
from rbench_metric_bias.verdict import holm, verdict


def test_holm_by_hand() -> None:
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert adjusted == {
        "a": pytest.approx(0.03),
        "b": pytest.approx(0.06),
        "c": pytest.approx(0.06),
        "d": pytest.approx(0.02),
    }


def test_holm_stops_at_one_and_leaves_out_what_was_not_tested() -> None:
    assert holm({"a": 0.6, "b": None, "c": 0.7}) == {"a": 1.0, "b": None, "c": 1.0}
    assert holm({"a": 0.04, "b": None}) == {"a": 0.04, "b": None}


@pytest.mark.parametrize(
    ("episodes", "p", "expected"),
    [
        (100, 0.05, "bias"),
        (100, 0.0501, "not resolved"),
        (100, None, "not resolved"),
        (0, None, None),
    ],
)
def test_verdicts(episodes: int, p: float | None, expected: str | None) -> None:
    assert verdict(episodes, p) == expected


def test_both_tests_of_all_dimensions_are_adjusted_together(study: Any) -> None:
    strong = np.tile([5, 5, 0, 0], (4, 1))
    weak = np.random.default_rng(0).integers(0, 6, (4, 4))
    records, design = study({"color": strong, "distance": weak})
    rows = Bias().compute(records, design, "default").dimensions
    p = {(name, test): rows[name][test] for name in rows for test in ("p_value", "p_main")}
    adjusted = holm(p)
    for name, row in rows.items():
        assert row["p_value_adjusted"] == adjusted[name, "p_value"]
        assert row["p_adjusted"] == min(adjusted[name, "p_value"], adjusted[name, "p_main"])
    assert rows["color"]["verdict"] == "bias"


def test_a_common_bias_that_one_repeat_cannot_show_inside_contexts_is_found_over_contexts(study: Any) -> None:
    records, design = study({"color": np.tile([1, 1, 0, 0, 0], (6, 1))}, repeats=1)
    row = Bias().compute(records, design, "default").dimensions["color"]
    assert row["p_value"] is None
    assert row["cv_floor"] == pytest.approx(row["cv"])
    assert row["cv_debiased"] is None
    assert row["p_main"] < 0.01
    assert row["verdict"] == "bias"


def test_one_repeat_in_one_context_is_not_resolved(study: Any) -> None:
    records, design = study({"color": [[1, 0, 0]]}, repeats=1)
    row = Bias().compute(records, design, "default").dimensions["color"]
    assert (row["p_value"], row["p_main"], row["p_adjusted"], row["verdict"]) == (None, None, None, "not resolved")
