"""Words for colours and shapes in what the object is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rbench.design import Design
from rbench_metric_perception.descriptions import Descriptions, shape_words


def plan(*names: str, **more: str) -> dict[str, Any]:
    return {"stages": [{"stage": "plan", "role": "object", "named": name, **more} for name in names]}


def words(extra: Any, figure: str) -> Any:
    (found,) = [h for h in extra["histograms"] if h["figure"] == figure]
    return found


def test_words_are_counted_overall_and_by_what_was_true(make_record: Callable, design: Design) -> None:
    records = [
        make_record(plan("red cube"), color="red"),
        make_record(plan("Gray block"), color="crimson"),
        make_record(plan("grey object"), color="gray", shape="cylinder"),
        make_record(plan("geometry"), color="gray"),
    ]
    extra = Descriptions().compute(records, design, "default").extra
    assert (extra["episodes"], extra["names"], extra["without_color"]) == (4, 4, 0.25)
    colors = words(extra, "fig5")
    assert colors["counts"] == {"gray": 2, "red": 1}
    assert colors["by"] == {
        "gray": {"total": 2, "counts": {"gray": 1}},
        "red": {"total": 2, "counts": {"gray": 1, "red": 1}},
    }
    shapes = words(extra, "fig13")
    assert shapes["counts"] == {"block": 1, "cube": 1, "geometry": 1, "object": 1}
    assert shapes["by"]["cylinder"] == {"total": 1, "counts": {"object": 1}}


def test_what_is_acted_upon_is_not_counted(make_record: Callable, design: Design) -> None:
    report = {"stages": [{"stage": "plan", "role": "destination", "named": "yellow box"}]}
    extra = Descriptions().compute([make_record(report)], design, "default").extra
    assert (extra["episodes"], extra["episodes_with_names"], extra["names"]) == (1, 0, 0)
    assert extra["without_color"] is None


def test_a_name_that_later_stages_repeat_counts_once(make_record: Callable, design: Design) -> None:
    report = plan("red cube")
    report["stages"] += [{"stage": s, "role": "object", "named": "red cube"} for s in ("detect", "segment")]
    extra = Descriptions().compute([make_record(report)], design, "default").extra
    assert words(extra, "fig5")["counts"] == {"red": 1}


def test_two_things_that_are_grasped_are_two_names(make_record: Callable, design: Design) -> None:
    extra = Descriptions().compute([make_record(plan("red cube", "blue cube", "red cube"))], design, "default").extra
    assert extra["names"] == 2


def test_a_word_twice_in_a_name_counts_once(make_record: Callable, design: Design) -> None:
    extra = Descriptions().compute([make_record(plan("red red cube"))], design, "default").extra
    assert words(extra, "fig5")["counts"] == {"red": 1}


def test_what_is_not_counted_is_left_out(make_record: Callable, design: Design) -> None:
    record = make_record(plan("red cube"), outcome="infrastructure_error")
    assert Descriptions().compute([record], design, "default").extra["episodes"] == 0


def test_anything_in_a_report_is_survived(make_record: Callable, design: Design, hostile: Any) -> None:
    extra = Descriptions().compute([make_record(hostile)], design, "default").extra
    assert (extra["episodes"], extra["names"]) == (1, 0)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Hexagonal prism", {"hexagon", "prism"}),
        ("small round cylinder", {"disc", "cylinder"}),
        ("geometric object", {"geometry", "object"}),
        ("thingamabob", set()),
    ],
)
def test_shapes_have_one_way_of_writing(name: str, found: set[str]) -> None:
    assert shape_words(name) == found
