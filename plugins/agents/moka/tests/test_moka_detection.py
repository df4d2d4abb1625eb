"""Boxes go to the names that they were asked for; no boxes is an ordinary outcome."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rbench_agent_moka.detection import by_index, by_phrase, find
from rbench_agent_moka.failures import GaveUp
from rbench_agent_moka.options import Options
from rbench_agent_moka.perception import Detection, Detector, Settings, overlap
from rbench_agent_moka.sight import Sight

LEFT, RIGHT = (10.0, 10.0, 30.0, 30.0), (60.0, 10.0, 90.0, 30.0)
NAMES = ("red cube", "blue cube")


class Stub(Detector):
    """Gives what it was told for each name, if it scores enough."""

    def __init__(self, answers: dict[str, list[Detection]]) -> None:
        super().__init__(Settings())
        self.answers = answers
        self.thresholds: list[float] = []

    def detect(self, sight: Sight, names: Sequence[str], threshold: float) -> list[list[Detection]]:
        self.thresholds.append(threshold)
        return [[d for d in self.answers.get(name, []) if d.score >= threshold] for name in names]


def found(detector: Stub, **options: object):
    return find(detector, None, NAMES, Options(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [("", "red cube blue cube"), ("cube", "cube"), ("[CLS]", "red")])
def test_odd_labels_neither_crash_nor_move_a_box_and_are_noted(labels: tuple[str, str]) -> None:
    boxes = {NAMES[0]: [Detection(LEFT, 0.9, labels[0])], NAMES[1]: [Detection(RIGHT, 0.8, labels[1])]}
    result = found(Stub(boxes))
    assert [result.boxes[name][0].box for name in NAMES] == [LEFT, RIGHT]
    wrong = {name for name, label in zip(NAMES, labels, strict=True) if label != "cube"}
    assert {note.partition(":")[2] for note in result.notes} == wrong


def test_no_box_belongs_to_two_names() -> None:
    both = [Detection(LEFT, 0.9, "cube"), Detection(RIGHT, 0.5, "cube")]
    boxes = by_index(NAMES, [both, [Detection(LEFT, 0.8, "cube"), Detection(RIGHT, 0.4, "cube")]])
    assert boxes["red cube"][0].box == LEFT
    assert boxes["blue cube"][0].box == RIGHT


def test_a_name_without_a_box_of_its_own_is_not_detected() -> None:
    same = Detection(LEFT, 0.9, "cube")
    with pytest.raises(GaveUp, match="no_detection:blue cube"):
        found(Stub({name: [same] for name in NAMES}))


def test_the_surer_box_wins_whatever_the_order() -> None:
    boxes = by_index(NAMES, [[Detection(LEFT, 0.4, "")], [Detection(LEFT, 0.6, "")]])
    assert list(boxes) == ["blue cube"]


def test_a_lower_threshold_is_tried_once_and_noted() -> None:
    stub = Stub({NAMES[0]: [Detection(LEFT, 0.9, "red cube")], NAMES[1]: [Detection(RIGHT, 0.25, "blue cube")]})
    assert found(stub).notes == ("retried:blue cube",)
    assert stub.thresholds == [0.3, 0.2]


def test_no_box_at_all_gives_up_with_the_name() -> None:
    stub = Stub({NAMES[0]: [Detection(LEFT, 0.9, "red cube")]})
    with pytest.raises(GaveUp, match="no_detection:blue cube"):
        found(stub)
    assert stub.thresholds == [0.3, 0.2]


def test_by_phrase_the_first_name_that_contains_the_label_gets_the_box() -> None:
    boxes = by_phrase(NAMES, [[Detection(LEFT, 0.9, "cube")], [Detection(RIGHT, 0.8, "blue cube")]])
    assert [d.box for d in boxes["red cube"]] == [LEFT]
    assert [d.box for d in boxes["blue cube"]] == [RIGHT]


def test_by_phrase_one_name_may_get_both_boxes_as_published() -> None:
    candidates = [[Detection(LEFT, 0.9, "cube")], [Detection(RIGHT, 0.8, "")]]
    assert [d.box for d in by_phrase(NAMES, candidates)["red cube"]] == [LEFT, RIGHT]


def test_by_phrase_case_counts_as_published() -> None:
    assert by_phrase(("Red cube",), [[Detection(LEFT, 0.9, "red cube")]]) == {}


def test_in_paper_mode_boxes_are_given_by_phrase() -> None:
    stub = Stub({name: [Detection(LEFT, 0.9, "cube")] for name in NAMES})
    with pytest.raises(GaveUp, match="no_detection:blue cube"):
        found(stub, mode="paper")


def test_overlap_is_the_share_of_both() -> None:
    assert overlap(LEFT, LEFT) == 1.0
    assert overlap(LEFT, RIGHT) == 0.0
    assert overlap((0.0, 0.0, 2.0, 2.0), (1.0, 0.0, 3.0, 2.0)) == pytest.approx(1 / 3)
