from __future__ import annotations

from typing import Any

import pytest

from rbench.suites.fairness import FairnessRules
from rbench.validation.rules import REMEDIES, verdict

GOOD_OBJECT = {
    "visible": 1.0, "width": 30, "cut_off": False, "pixels": 800,
    "contrast": 25.0, "box_contrast": 40.0, "turned": 0.4, "shading": 10.0,
}  # fmt: skip
GOOD_BOX = {"visible": 1.0, "width": 60, "cut_off": False, "pixels": 3000}
RULES = FairnessRules()


def measures(body: dict[str, Any] | None = None, box: dict[str, Any] | None = None, **picture: float) -> dict[str, Any]:
    return {
        "picture": {"lightness": 60.0, "near": 0.0, **picture},
        "objects": {"geometry": {**GOOD_OBJECT, **(body or {})}},
        "boxes": {"box": {**GOOD_BOX, **(box or {})}},
    }


def test_a_clear_picture_passes() -> None:
    assert verdict(measures(), RULES) == ((), ())


@pytest.mark.parametrize(
    ("given", "reasons"),
    [
        ({"body": {"visible": 0.79}}, ("object hidden",)),
        ({"body": {"visible": 0.0, "pixels": 0, "width": 0, "contrast": 0.0}}, ("object hidden",)),
        ({"body": {"width": 9}}, ("object small",)),
        ({"body": {"cut_off": True}}, ("object cut off",)),
        ({"body": {"contrast": 2.9}}, ("object like its surroundings",)),
        ({"body": {"turned": 0.05}}, ("object flat",)),
        ({"body": {"shading": 0.9}}, ("object flat",)),
        ({"box": {"visible": 0.59}}, ("box hidden",)),
        ({"box": {"cut_off": True}}, ("box cut off",)),
        ({"lightness": 4.9}, ("nothing to see",)),
        ({"near": 0.6, "body": {"visible": 0.0}}, ("camera blocked",)),
        ({"body": {"visible": 0.5, "cut_off": True}, "box": {"cut_off": True}},
         ("object cut off", "box cut off", "object hidden")),
    ],
)  # fmt: skip
def test_each_rule_is_broken_by_its_measure(given: dict[str, Any], reasons: tuple[str, ...]) -> None:
    assert verdict(measures(**given), RULES)[0] == reasons


@pytest.mark.parametrize(
    "given",
    [{"visible": 0.8}, {"width": 10}, {"contrast": 3.0, "box_contrast": 40.0}, {"turned": 0.1}, {"shading": 1.0}],
)
def test_a_measure_at_its_threshold_passes(given: dict[str, Any]) -> None:
    assert verdict(measures(given), RULES)[0] == ()


def test_low_contrast_is_noted_and_no_fault() -> None:
    assert verdict(measures({"contrast": 14.9}), RULES) == ((), ("low contrast",))


def test_an_object_of_the_colour_of_the_box_is_noted() -> None:
    assert verdict(measures({"box_contrast": 0.5}), RULES) == ((), ("like the box",))


def test_where_there_is_no_box_nothing_is_like_it() -> None:
    assert verdict(measures({"box_contrast": None}), RULES) == ((), ())


def test_a_suite_may_allow_what_reaches_the_edge() -> None:
    assert verdict(measures({"cut_off": True}), FairnessRules(cut_off=True)) == ((), ())


def test_every_remedy_says_what_to_do() -> None:
    assert all(text and text == text.strip() for text in REMEDIES.values())
