"""Worst and best levels, groups, and differences that can only be noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rbench.design import Context, Design
from rbench.scene import Jitter
from rbench_metric_bias.bias import Bias
from rbench_metric_bias.intervals import wilson_interval


def row(records: Any, design: Design, dimension: str = "color") -> dict[str, Any]:
    return dict(Bias().compute(records, design, "default").dimensions[dimension])


def test_worst_and_best_levels_have_simultaneous_intervals(study: Any) -> None:
    records, design = study({"color": [[5, 0, 3, 1, 4, 2, 2], [5, 1, 3, 1, 4, 2, 2]]})
    found = row(records, design)
    assert [level["level"] for level in found["worst_levels"]] == ["c1", "c3", "c5"]
    assert [level["level"] for level in found["best_levels"]] == ["c0", "c4", "c2"]
    worst = found["worst_levels"][0]
    assert (worst["successes"], worst["episodes"], worst["success_rate"]) == (1, 10, 0.1)
    assert worst["interval"] == wilson_interval(0.1, 10, 1 - 0.05 / 7)


def test_every_level_seen_has_the_same_kind_of_interval(study: Any) -> None:
    records, design = study({"color": [[5, 0, 3, 1, 4, 2, 2], [5, 1, 3, 1, 4, 2, 2]]})
    found = row(records, design)
    assert list(found["level_intervals"]) == [f"c{n}" for n in range(7)]
    ends = {end["level"]: end["interval"] for end in found["worst_levels"] + found["best_levels"]}
    assert ends.items() <= found["level_intervals"].items()
    assert row([], design)["level_intervals"] == {}


def test_no_level_is_both_worst_and_best(study: Any) -> None:
    records, design = study({"color": [[1, 2, 3]]})
    found = row(records, design)
    assert ([x["level"] for x in found["worst_levels"]], [x["level"] for x in found["best_levels"]]) == (["c0"], ["c2"])


def test_one_level_or_none_has_no_ends(study: Any) -> None:
    records, design = study({"color": [[1]]})
    assert row(records, design)["worst_levels"] == []
    assert row([], design)["best_levels"] == []


def test_groups_pool_their_levels(study: Any) -> None:
    records, design = study({"color": [[5, 0, 3], [4, 1, 3]]})
    grouped = replace(design, groups={"color": {"c0": "warm", "c1": "warm", "c9": "cold"}})
    (name,) = row(records, grouped)["groups"]
    warm = row(records, grouped)["groups"][name]
    assert name == "warm"
    assert (warm["levels"], warm["successes"], warm["episodes"], warm["success_rate"]) == (2, 10, 20, 0.5)
    assert warm["success_rate_interval"][0] < 0.5 < warm["success_rate_interval"][1]
    assert row(records, design)["groups"] == {}


def equal_contexts(study: Any, counts: Any) -> tuple[Any, Design]:
    records, design = study({"color": counts})
    settings = [{"position": "p1"}, {"position": "p1"}, {"position": "p2"}]
    return records, replace(design, contexts=tuple(Context(f"k{i}", s) for i, s in enumerate(settings)))


def test_contexts_of_equal_setting_are_compared(study: Any) -> None:
    records, design = equal_contexts(study, [[5, 5, 4, 5], [0, 1, 0, 0], [2, 2, 2, 2]])
    (found,) = row(records, design)["equal_contexts"]
    assert found["contexts"] == ["k0", "k1"]
    assert found["success_rates"] == [0.95, 0.05]
    assert found["largest_difference"] == pytest.approx(0.9)
    assert found["p_value"] < 0.02


def test_equal_contexts_that_agree_have_a_large_p(study: Any) -> None:
    records, design = equal_contexts(study, [[3, 2, 4, 1], [2, 3, 1, 4], [0, 0, 0, 0]])
    (found,) = row(records, design)["equal_contexts"]
    assert found["p_value"] > 0.3
    always = row(*equal_contexts(study, [[5, 5], [5, 5], [0, 0]]))["equal_contexts"]
    assert always[0]["p_value"] is None


def test_levels_of_equal_value_are_found_from_the_records(make_record: Any, study: Any) -> None:
    _, design = study({"color": [[0, 0, 0]]}, repeats=6)
    values = {"c0": [0, 255, 255], "c1": [255, 0, 0], "c2": (0, 255, 255)}
    outcomes = {"c0": "ssssff", "c1": "ffffff", "c2": "sfffff"}
    records = [
        make_record("color", "k0", repeat, "success" if s == "s" else "failure", values={"color": values[c]}, color=c)
        for c, row_of in outcomes.items()
        for repeat, s in enumerate(row_of)
    ]
    assert row(records, design)["equal_levels"] == [
        {"levels": ["c0", "c2"], "pairs": 6, "differ": 3, "first_only": 3, "second_only": 0, "p_value": 0.25}
    ]


def test_levels_without_a_value_are_not_equal(study: Any) -> None:
    records, design = study({"color": [[5, 0]]})
    assert row(records, design)["equal_levels"] == []


def test_copies_count_once(study: Any) -> None:
    records, design = study({"color": np.tile([5, 0, 5, 0], (4, 1))})
    copies = [replace(record, jitter={"geometry": Jitter(0.001)}) for record in records]
    found, jittered = row(copies, design), row(records, design)
    assert (found["repeats_are_copies"], found["dispersion"], found["blocks"]) == (True, 0.0, 4)
    assert (jittered["repeats_are_copies"], jittered["dispersion"], jittered["blocks"]) == (False, 0.0, 20)
    assert (found["episodes"], found["cv"]) == (jittered["episodes"], jittered["cv"])
    # One repeat: only what the contexts have in common can be tested.
    assert (found["p_value"], found["cv_debiased"]) == (None, None)
    assert found["p_main"] < 0.02
    assert jittered["p_value"] < 0.001
    low, high = found["success_rate_interval"]
    assert high - low > 0.5


def test_a_stochastic_agent_without_jitter_has_no_copies(study: Any) -> None:
    records, design = study({"color": [[5, 3, 1]]})
    assert not row([replace(record, jitter={}) for record in records], design)["repeats_are_copies"]
