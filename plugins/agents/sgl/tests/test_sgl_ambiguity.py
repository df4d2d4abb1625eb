"""What an object can be taken for, and which attributes tell it apart: the open points of the paper, a case each."""

from __future__ import annotations

from typing import Any

import pytest

from rbench.vision.scene_objects import SceneObject
from rbench_agent_sgl.ambiguity import Choice, chosen_attributes, colliders
from rbench_agent_sgl.options import ALL
from rbench_agent_sgl.scene import enumerated, scene_fault


def thing(number: int = 1, name: str = "cube", **said: Any) -> SceneObject:
    plain = {"category": (), "color": "", "size": "normal", "position": "normal", "state": ""}
    role = "manipulation object" if number == 1 else "other object"
    return SceneObject.model_validate({"id": number, "object_type": role, "name": name} | plain | said)


@pytest.mark.parametrize(
    ("mine", "other", "shared", "collide"),
    [
        (thing(1, "cube"), thing(2, "cube"), "any", True),
        (thing(1, "cube"), thing(2, "Cube"), "name_only", True),
        (thing(1, "cube", category=("geometry",)), thing(2, "ball", category=("Geometry",)), "any", True),
        (thing(1, "cube", category=("geometry",)), thing(2, "ball", category=("geometry",)), "name_only", False),
        (thing(1, "cube", category=("geometry",)), thing(2, "box", category=("container",)), "any", False),
        (thing(1, "cube"), thing(2, "ball"), "any", False),
    ],
    ids=["same name", "name in capitals", "shared category", "only names count", "no shared category", "no category"],
)
def test_objects_collide(mine: SceneObject, other: SceneObject, shared: Any, collide: bool) -> None:
    assert colliders(mine, (mine, other), shared) == ((other,) if collide else ())


def test_a_cube_and_a_box_are_both_rectangular() -> None:
    cube = thing(1, "cube", category=("geometry", "rectangular shape"))
    box = thing(2, "box", category=("container", "rectangular shape"))
    assert colliders(cube, (cube, box), "any") == (box,)


RED = {"color": "red"}


@pytest.mark.parametrize(
    ("mine", "others", "chosen", "unresolved"),
    [
        ({"color": "red", "size": "small"}, [{"color": "blue", "size": "big"}], ("color",), False),
        ({**RED, "state": "solid"}, [{**RED, "state": "hollow"}], ("state",), False),
        ({**RED, "size": "small"}, [{**RED, "size": "big"}], ("size",), False),
        ({**RED, "position": "left"}, [{**RED, "position": "right"}], ("position",), False),
        ({**RED, "size": "small"}, [{"color": "Red", "size": "normal"}], ("size",), False),
        ({**RED, "size": "normal", "position": "left"}, [{**RED, "size": "big"}], ("position",), False),
        ({"size": "small"}, [{"color": "red", "size": "big"}], ("size",), False),
        ({**RED, "position": "left"}, [{"color": "", "position": "right"}], ("position",), False),
        (
            {**RED, "position": "left"},
            [{**RED, "position": "right"}, {"color": "green", "position": "left"}],
            ("color", "position"),
            False,
        ),
        (
            {**RED, "size": "small"},
            [{**RED, "size": "big"}, {"color": "blue", "size": "small"}],
            ("color", "size"),
            False,
        ),
        (
            {**RED, "state": "solid", "size": "small"},
            [
                {"color": "blue", "state": "solid", "size": "small"},
                {**RED, "state": "hollow", "size": "small"},
                {**RED, "state": "solid", "size": "big"},
            ],
            ("color", "state"),
            True,
        ),
        ({**RED, "state": "solid"}, [{**RED, "state": "solid"}], ("color", "state"), True),
        ({}, [{}], (), True),
    ],
    ids=[
        "colour first",
        "then state",
        "then size",
        "then position",
        "case does not count",
        "a normal value is no word",
        "an unknown colour is no word",
        "an unknown colour differs from nothing",
        "two: the left red one",
        "two: the small red one",
        "two are the most",
        "twins",
        "nothing known",
    ],
)
def test_attributes_are_chosen(
    mine: dict[str, str], others: list[dict[str, str]], chosen: tuple[str, ...], unresolved: bool
) -> None:
    things = [thing(number + 2, **other) for number, other in enumerate(others)]
    assert chosen_attributes(thing(1, **mine), things, ALL, 2) == Choice(chosen, unresolved)  # type: ignore[arg-type]


def test_nothing_is_chosen_where_nothing_collides() -> None:
    assert chosen_attributes(thing(1, color="red", size="small"), (), ALL, 2) == Choice()


def test_the_priority_is_an_option() -> None:
    other = thing(2, color="blue", size="big")
    assert chosen_attributes(thing(1, color="red", size="small"), [other], ("size", "color"), 2) == Choice(("size",))


def test_more_attributes_can_be_allowed() -> None:
    mine = thing(1, color="red", state="solid", size="small")
    others = [
        thing(2, color="blue", state="solid", size="small"),
        thing(3, color="red", state="hollow", size="small"),
        thing(4, color="red", state="solid", size="big"),
    ]
    assert chosen_attributes(mine, others, ALL, 3) == Choice(("color", "state", "size"))


@pytest.mark.parametrize(
    ("said", "meant", "flags"),
    [
        ({"position": "Left"}, {"position": "left"}, ()),
        ({"position": "middle"}, {"position": "normal"}, ()),
        ({"position": "centre"}, {"position": "normal"}, ()),
        ({"position": "inside"}, {"position": "normal"}, ("1.position: inside",)),
        ({"size": "large"}, {"size": "big"}, ()),
        ({"size": "40 mm"}, {"size": "normal"}, ("1.size: 40 mm",)),
        ({"state": "open"}, {"state": ""}, ("1.state: open",)),
    ],
)
def test_values_are_brought_into_their_enumeration(
    said: dict[str, str], meant: dict[str, str], flags: tuple[str, ...]
) -> None:
    scene = enumerated([thing(1, **said)])
    assert {key: getattr(scene.objects[0], key) for key in meant} == meant
    assert scene.flags == flags


@pytest.mark.parametrize(
    ("roles", "fault"),
    [
        (["manipulation object"], None),
        (["manipulation object", "receiver object", "other object"], None),
        ([], "0 manipulation objects"),
        (["other object"], "0 manipulation objects"),
        (["manipulation object"] * 2, "2 manipulation objects"),
        (["manipulation object", "receiver object", "receiver object"], "2 receiver objects"),
    ],
)
def test_a_scene_has_one_object_to_move_and_at_most_one_receiver(roles: list[str], fault: str | None) -> None:
    assert scene_fault([thing(n + 1, object_type=role) for n, role in enumerate(roles)]) == fault


def test_ids_differ() -> None:
    assert scene_fault([thing(1), thing(1, object_type="other object")]) == "duplicate ids"
