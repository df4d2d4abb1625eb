"""Instructions with slots in place of their objects."""

from __future__ import annotations

import pytest

from rbench_agent_sgl.instruction import core_action, receiver_noun, told_by_template

ITEM, RECEIVER = "the red cube", "the yellow box"


@pytest.mark.parametrize(
    ("instruction", "told"),
    [
        ("Put the geometry into the box.", "Put the red cube into the yellow box."),
        (
            "Pick up the object and place it in the box.",
            "Pick up the red cube and place it in the yellow box.",
        ),
        ("The geometry should end up inside the box.", "The red cube should end up inside the yellow box."),
        ("stack the cube", "stack the red cube"),
        ("Into the box, put a small wooden cube!", "Into the yellow box, put the red cube!"),
        ("Place this cube onto that plate", "Place the red cube onto the yellow box"),
        ("Put the cube, please, in the  big\tbox", "Put the red cube, please, in the yellow box"),
    ],
)
def test_the_words_around_the_objects_stay(instruction: str, told: str) -> None:
    action = core_action(instruction)
    assert action is not None
    assert action.told(ITEM, RECEIVER) == told


@pytest.mark.parametrize(
    "instruction",
    [
        "",
        "   ",
        "stack cubes",
        "Put the cube on the left of the box into the bowl.",
        "Pick up the cube and put the cube in the box.",
        "把物体放进盒子里",
        "Put the object into the box. " * 50,
        "the the the",
    ],
)
def test_what_the_grammar_does_not_know_it_leaves(instruction: str) -> None:
    assert core_action(instruction) is None


def test_a_slot_keeps_its_noun() -> None:
    action = core_action("Put the small geometry into the open box.")
    assert action is not None
    assert (action.object.noun, action.receiver and action.receiver.noun) == ("geometry", "box")


@pytest.mark.parametrize(
    ("instruction", "noun"),
    [("Put the cube into the open box.", "box"), ("stack the cube", None), ("", None), ("in the bowl", "bowl")],
)
def test_the_receiver_of_an_instruction(instruction: str, noun: str | None) -> None:
    assert receiver_noun(instruction) == noun


@pytest.mark.parametrize(
    ("instruction", "receiver", "hollow", "told"),
    [
        ("Pick up the cube and put the cube in the box.", RECEIVER, True, "Put the red cube in the yellow box."),
        ("stack the cube", RECEIVER, False, "Put the red cube on the yellow box."),
        ("stack the cube", RECEIVER, True, "Put the red cube into the yellow box."),
        ("grab it", None, False, "Pick up the red cube."),
    ],
)
def test_the_fixed_template(instruction: str, receiver: str | None, hollow: bool, told: str) -> None:
    assert told_by_template(instruction, ITEM, receiver, hollow) == told


def test_braces_and_percent_signs_are_text() -> None:
    action = core_action("Put the cube {0} %s into the box {x}")
    assert action is not None
    assert action.told("a {cube}", "a %d box") == "Put a {cube} {0} %s into a %d box {x}"
