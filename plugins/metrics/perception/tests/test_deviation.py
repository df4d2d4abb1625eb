"""How often a near colour scores higher than what was said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rbench.design import Design
from rbench_metric_perception.deviation import Deviation


def probe(score: float, word: str = "red", **near: float) -> dict[str, Any]:
    return {"name": f"{word} cube", "word": word, "score": score, "near": near}


def extra(records: list[Any], design: Design) -> Any:
    return Deviation().compute(records, design, "default").extra


@pytest.mark.parametrize(
    ("near", "deviates"), [(0.53, False), (0.530001, True), (0.6, True), (0.5, False), (0.1, False)]
)
def test_a_near_word_must_score_more_than_the_threshold_higher(
    near: float, deviates: bool, make_record: Callable, design: Design
) -> None:
    found = extra([make_record({"near_colors": [probe(0.5, crimson=near)]})], design)
    assert (found["probes"], found["deviating"]) == (1, int(deviates))


def test_the_best_near_word_counts(make_record: Callable, design: Design) -> None:
    found = extra([make_record({"near_colors": [probe(0.5, crimson=0.1, scarlet=0.7, tomato=0.7)]})], design)
    assert found["preferred"] == [{"word": "red", "near": "scarlet", "times": 1, "gain_mean": pytest.approx(0.2)}]


def test_what_the_object_is_put_into_is_left_out(make_record: Callable, design: Design) -> None:
    probes = [probe(0.4, crimson=0.9) | {"role": role} for role in ("object", "destination")]
    assert extra([make_record({"near_colors": probes})], design)["probes"] == 1


def test_rates_are_over_all_and_by_the_true_colour(make_record: Callable, design: Design) -> None:
    records = [
        make_record({"near_colors": [probe(0.2, crimson=0.6)]}, color="crimson", repeat=0),
        make_record({"near_colors": [probe(0.6, crimson=0.2)]}, color="red", repeat=0),
        make_record({"near_colors": [probe(0.6, crimson=0.6)]}, color="red", repeat=1),
        make_record({"near_colors": [probe(0.0, "gray", silver=0.1)]}, color="gray", repeat=1),
        make_record({}, color="gray", repeat=1),
    ]
    found = extra(records, design)
    assert (found["probes"], found["deviating"], found["rate"], found["blocks"]) == (4, 2, 0.5, 2)
    assert found["by"]["red"] == {"probes": 3, "deviating": 1, "rate": pytest.approx(1 / 3)}
    assert found["by"]["gray"]["rate"] == 1.0
    (histogram,) = found["histograms"]
    assert histogram["total"] == sum(histogram["counts"].values()) == 4
    assert histogram["counts"]["> +0.09"] == 2
    assert next(iter(histogram["counts"])).startswith("≤")


def test_the_published_rate_as_a_count(make_record: Callable, design: Design) -> None:
    """17.78 % is 8 of 45."""
    records = [
        make_record({"near_colors": [probe(0.4, crimson=0.5 if i < 8 else 0.4)]}, context=f"k{i % 9}", repeat=i // 9)
        for i in range(45)
    ]
    found = extra(records, design)
    assert round(100 * found["rate"], 2) == 17.78
    low, high = found["rate_interval"]
    assert 0.05 < low < found["rate"] < high < 0.35


def test_blocks_that_agree_give_an_interval_with_a_width(make_record: Callable, design: Design) -> None:
    records = [make_record({"near_colors": [probe(0.4, crimson=0.9)]}, repeat=i) for i in range(5)]
    low, high = extra(records, design)["rate_interval"]
    assert low < 0.8
    assert high == 1.0


def test_nothing_measured_has_no_rate(make_record: Callable, design: Design) -> None:
    found = extra([make_record({"near_colors": []})], design)
    assert (found["probes"], found["rate"], found["rate_interval"], found["gain_mean"]) == (0, None, None, None)


def test_anything_in_a_report_is_survived(make_record: Callable, design: Design, hostile: Any) -> None:
    assert extra([make_record(hostile)], design)["probes"] == 0
