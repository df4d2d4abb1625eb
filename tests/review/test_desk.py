"""Who reads what: order, second readings, disagreements, rulings, undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbench.errors import UsageError
from rbench.review.desk import AHEAD, Desk
from rbench.review.ledger import Ledger
from rbench.review.questions import Questions
from rbench.validation.directory import DECISIONS, ValidationDirectory


def open_desk(path: Path, share: float = 0.2) -> Desk:
    return Desk(Questions(ValidationDirectory.open(path), share), Ledger(path / DECISIONS))


def read_all(desk: Desk, reviewer: str, answer: str = "yes") -> list[int]:
    """Answer until nothing is left; the numbers of the pictures in the order they were shown."""
    seen = []
    work = desk.work(reviewer, "read")
    while work["items"]:
        item = work["items"][0]
        seen.append(item["number"])
        work = desk.decide(reviewer, "read", item["number"], item["image_hash"], answer)
    return seen


def test_the_order_is_random_to_each_reviewer_and_survives_a_restart(validation: Callable[..., Path]) -> None:
    path = validation(pictures=30)
    orders = {name: open_desk(path).questions.order(name) for name in ("ann", "ben")}
    assert orders["ann"] != orders["ben"] != sorted(orders["ben"])
    assert sorted(orders["ann"]) == list(range(30))
    assert open_desk(path).questions.order("ann") == orders["ann"]
    half = orders["ann"][:15]
    desk = open_desk(path)
    for number in half:
        item = desk.questions.items[number]
        desk.decide("ann", "read", number, item.image_hash, "yes")
    assert read_all(open_desk(path), "ann") == orders["ann"][15:]


def test_two_people_share_the_work_and_read_a_fifth_twice(validation: Callable[..., Path]) -> None:
    desk = open_desk(validation(pictures=30))
    assert len(read_all(desk, "ann")) == 30
    assert set(read_all(desk, "ben")) == set(desk.questions.twice)
    assert len(desk.questions.twice) == 6
    assert read_all(desk, "cleo") == []


@pytest.mark.parametrize(("share", "twice"), [(0, 0), (0.01, 1), (0.5, 5), (1, 10)])
def test_the_share_of_second_readings_is_a_choice(validation: Callable[..., Path], share: float, twice: int) -> None:
    assert len(open_desk(validation(pictures=10), share).questions.twice) == twice


def test_a_blind_reader_is_told_nothing_but_the_picture_and_the_instruction(validation: Callable[..., Path]) -> None:
    desk = open_desk(validation(pictures=3), share=1)
    read_all(desk, "ann", "no")
    work = desk.work("ben", "read")
    assert len(work["items"]) == 3
    assert {key for item in work["items"] for key in item} == {"number", "image_hash", "instruction"}
    assert desk.work("ben", "rule")["items"] == []


def test_the_second_reading_is_marked_in_the_file(validation: Callable[..., Path]) -> None:
    path = validation(pictures=3)
    desk = open_desk(path, share=1)
    read_all(desk, "ann")
    read_all(desk, "ben")
    readings = {(d.reviewer, d.reading) for d in ValidationDirectory.open(path).decisions()}
    assert readings == {("ann", 1), ("ben", 2)}


def test_next_pictures_come_along_to_be_loaded_ahead(validation: Callable[..., Path]) -> None:
    desk = open_desk(validation(pictures=30))
    assert [item["number"] for item in desk.work("ann", "read")["items"]] == desk.questions.order("ann")[:AHEAD]


def test_what_another_server_keeps_is_not_asked_again(validation: Callable[..., Path]) -> None:
    path = validation(pictures=10)
    one, other = open_desk(path, 0), open_desk(path, 0)
    for _ in range(5):
        for desk, reviewer in ((one, "ann"), (other, "ben")):
            item = desk.work(reviewer, "read")["items"][0]
            desk.decide(reviewer, "read", item["number"], item["image_hash"], "yes")
    assert one.work("ann", "read")["progress"] == {
        "mine": 5, "left": 0, "read": 10, "pictures": 10, "gone": 0, "disagreements": 3,
    }  # fmt: skip


def test_readers_who_differ_are_ruled_on(validation: Callable[..., Path]) -> None:
    desk = open_desk(validation(pictures=2), share=1)  # both pass the measured gate
    read_all(desk, "ann", "yes")
    read_all(desk, "ben", "no")
    item = desk.work("cleo", "rule")["items"][0]
    assert item["why"] == ["readers"]
    assert {(s["who"], s["said"]) for s in item["statements"]} == {
        ("ann", "yes"),
        ("ben", "no"),
        ("measured gate", "passes"),
    }
    before = desk.summary()
    after = desk.decide("cleo", "rule", item["number"], item["image_hash"], "no")
    assert before["open"] == 2
    assert after["progress"]["disagreements"] == 1
    assert desk.summary()["answers"] == {"yes": 0, "no": 1, "unsure": 0}
    assert desk.summary()["pairs"] == before["pairs"], "a ruling is no blind reading"


def test_a_reader_who_is_unsure_is_ruled_on(validation: Callable[..., Path]) -> None:
    desk = open_desk(validation(pictures=1), share=0)
    read_all(desk, "ann", "unsure")
    assert desk.work("ann", "rule")["items"][0]["why"] == ["unsure"]


def test_people_against_the_measured_gate_are_ruled_on(validation: Callable[..., Path]) -> None:
    desk = open_desk(validation(pictures=3), share=0)  # the third fails the gate
    read_all(desk, "ann", "yes")
    (item,) = desk.work("ann", "rule")["items"]
    assert (item["number"], item["why"]) == (2, ["measured"])
    assert {"who": "measured gate", "said": "fails: object hidden"} in item["statements"]


def test_people_against_the_vision_model_are_ruled_on(validation: Callable[..., Path]) -> None:
    path = validation(pictures=2)
    directory = ValidationDirectory.open(path)
    first, second = directory.queue()
    directory.append_answer({"image_hash": first.image_hash, "answer": "no"})
    directory.append_answer({"image_hash": second.image_hash, "answer": None})
    desk = open_desk(path, share=0)
    read_all(desk, "ann", "yes")
    (item,) = desk.work("ann", "rule")["items"]
    assert (item["number"], item["why"]) == (0, ["model"])
    assert desk.summary()["model"] == {
        "yes": {"yes": 0, "no": 0, "unsure": 0},
        "no": {"yes": 1, "no": 0, "unsure": 0},
    }


def test_nothing_is_ruled_on_where_nobody_differs(validation: Callable[..., Path]) -> None:
    desk = open_desk(validation(pictures=1), share=0)
    read_all(desk, "ann", "yes")
    with pytest.raises(UsageError, match="nobody differs"):
        desk.decide("ann", "rule", 0, desk.questions.items[0].image_hash, "no")


def test_undo_goes_back_answer_by_answer_and_only_through_ones_own(validation: Callable[..., Path]) -> None:
    desk = open_desk(validation(pictures=4), share=1)
    shown = read_all(desk, "ann")
    read_all(desk, "ben", "no")
    for number in reversed(shown):
        work = desk.undo("ann", "read")
        assert work["undone"]
        assert work["items"][0]["number"] == number
    assert desk.undo("ann", "read")["undone"] is False
    assert desk.summary()["reviewers"] == [{"reviewer": "ben", "readings": 4, "rulings": 0}]


def test_undo_of_rulings_leaves_readings_alone(validation: Callable[..., Path]) -> None:
    desk = open_desk(validation(pictures=1), share=0)
    read_all(desk, "ann", "unsure")
    item = desk.work("ann", "rule")["items"][0]
    desk.decide("ann", "rule", item["number"], item["image_hash"], "yes")
    assert desk.undo("ann", "rule")["items"][0]["number"] == item["number"]
    assert desk.undo("ann", "rule")["undone"] is False
    assert desk.summary()["read"] == 1


def test_decisions_do_not_outlive_a_change_of_the_picture(
    validation: Callable[..., Path], decide: Callable[..., None]
) -> None:
    path = validation(pictures=2)
    decide(path, "ann", ["yes", "yes"])
    directory = ValidationDirectory.open(path)
    first, second = directory.queue()
    directory.write_queue([replace(first, image_hash="b" * 64), second])
    found = open_desk(path).summary()
    assert (found["read"], found["decisions"], found["outdated_decisions"]) == (1, 1, 1)


def test_a_picture_that_is_gone_is_counted_and_not_asked(validation: Callable[..., Path]) -> None:
    path = validation(pictures=3)
    (path / "images" / "0001.png").unlink()
    desk = open_desk(path)
    assert sorted(read_all(desk, "ann")) == [0, 2]
    assert desk.summary()["without_picture"] == 1


def test_people_are_asked_in_the_words_of_the_suite(validation: Callable[..., Path]) -> None:
    path = validation()
    assert open_desk(path).questions.conditions[1] == "The box is in the picture."
    ValidationDirectory.open(path).update(thresholds={"object_words": "red mug", "box_words": "tray"})
    assert open_desk(path).questions.conditions[:2] == ["The red mug is in the picture.", "The tray is in the picture."]


def test_a_queue_that_names_a_file_elsewhere_is_refused(validation: Callable[..., Path]) -> None:
    path = validation(pictures=1)
    directory = ValidationDirectory.open(path)
    directory.write_queue([replace(item, image="../../secret.png") for item in directory.queue()])
    with pytest.raises(UsageError, match="is no picture of"):
        open_desk(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"number": 99}, "not in this queue"),
        ({"number": -1}, "not in this queue"),
        ({"image_hash": "0"}, "not in this queue"),
        ({"answer": "maybe"}, "is no answer"),
    ],
)
def test_what_fits_no_picture_is_not_kept(
    validation: Callable[..., Path], changes: dict[str, Any], message: str
) -> None:
    desk = open_desk(validation(pictures=1))
    given = {"number": 0, "image_hash": desk.questions.items[0].image_hash, "answer": "yes"} | changes
    with pytest.raises(UsageError, match=message):
        desk.decide("ann", "read", **given)
    assert desk.reviewers() == []


def test_saying_something_else_later_replaces_the_reading(validation: Callable[..., Path]) -> None:
    path = validation(pictures=1)
    desk = open_desk(path, share=1)
    image_hash = desk.questions.items[0].image_hash
    for reviewer, answer in (("ann", "yes"), ("ben", "yes"), ("ann", "no")):
        desk.decide(reviewer, "read", 0, image_hash, answer)
    assert {(d.reviewer, d.answer, d.reading) for d in ValidationDirectory.open(path).decisions()} == {
        ("ann", "no", 1),
        ("ben", "yes", 2),
    }
