"""Scenes in words: what an answer must hold, and what the embedded eye says of pixels."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from rbench.errors import NoAnswer
from rbench.interfaces.vision import Question
from rbench.vision.opencv import OpenCv
from rbench.vision.scene_objects import SceneObject, SceneObjects
from rbench.vision.scripted import ScriptedVision

CUBE = {
    "ID": 1,
    "object_type": "manipulation object",
    "name": "cube",
    "category": ["geometry"],
    "color": "red",
    "size": "small",
    "position": "left",
    "state": "solid",
}


def described(image: np.ndarray) -> tuple[SceneObject, ...]:
    question = Question("test.scene/1", "What is there?", (image,), SceneObjects)
    answer = OpenCv().ask(question, np.random.default_rng(0)).value
    assert isinstance(answer, SceneObjects)
    return answer.root


def asked(said: str) -> SceneObjects:
    question = Question("test.scene/1", "", (np.zeros((8, 8, 3), dtype=np.uint8),), SceneObjects)
    return ScriptedVision(lambda q, rng: said).ask(question, np.random.default_rng(0)).value  # type: ignore[no-any-return]


def test_a_list_in_a_fence_is_read() -> None:
    assert asked(f"Here:\n```json\n{json.dumps([CUBE])}\n```").root[0].name == "cube"


@pytest.mark.parametrize("key", CUBE)
def test_every_key_must_be_there(key: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        asked(json.dumps([{k: v for k, v in CUBE.items() if k != key}]))
    assert caught.value.kind == "invalid"


def test_one_category_may_stand_without_a_list() -> None:
    assert SceneObject.model_validate(CUBE | {"category": "geometry"}).category == ("geometry",)


def test_roles_may_be_spelled_with_underscores_and_capitals() -> None:
    assert SceneObject.model_validate(CUBE | {"object_type": "Other_Object"}).object_type == "other object"


def test_words_are_one_line_without_control_characters() -> None:
    assert SceneObject.model_validate(CUBE | {"color": " light\n\x1b red "}).color == "light red"


@pytest.mark.parametrize("change", [{"name": "  "}, {"name": "x" * 61}, {"object_type": "toy"}, {"ID": "one"}])
def test_what_is_no_description_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SceneObject.model_validate(CUBE | change)


def test_a_scene_has_an_end() -> None:
    with pytest.raises(ValidationError, match="more than 50"):
        SceneObjects.model_validate([CUBE] * 51)


BASIC = {
    "red": (255, 0, 0),
    "orange": (255, 165, 0),
    "yellow": (255, 255, 0),
    "green": (0, 128, 0),
    "cyan": (0, 255, 255),
    "blue": (0, 0, 255),
    "purple": (128, 0, 128),
    "pink": (255, 192, 203),
    "brown": (165, 42, 42),
    "black": (0, 0, 0),
    "gray": (128, 128, 128),
    "white": (255, 255, 255),
}


@pytest.mark.gl
@pytest.mark.parametrize("name", BASIC)
@pytest.mark.parametrize("shape", ["cube", "cylinder"])
def test_basic_colours_are_called_by_their_names(photograph: Callable[..., Any], name: str, shape: str) -> None:
    solid, box = described(photograph(color=BASIC[name], shape=shape).image)
    assert (solid.color, box.color) == (name, "yellow")


@pytest.mark.gl
def test_a_colour_between_two_terms_has_both(photograph: Callable[..., Any]) -> None:
    assert described(photograph(color=(173, 255, 47)).image)[0].color == "green yellow"


@pytest.mark.gl
def test_the_solid_and_the_box_are_told_apart(photograph: Callable[..., Any]) -> None:
    solid, box = described(photograph().image)
    assert (solid.object_type, solid.name, solid.state, solid.size) == (
        "manipulation object",
        "object",
        "solid",
        "small",
    )
    assert (box.object_type, box.name, box.state, box.size) == ("receiver object", "box", "hollow", "big")
    assert solid.id != box.id


@pytest.mark.gl
@pytest.mark.parametrize(("shape", "shared"), [("cube", True), ("pyramid", True), ("cylinder", False)])
def test_a_solid_with_straight_sides_is_of_a_kind_with_the_box(
    photograph: Callable[..., Any], shape: str, shared: bool
) -> None:
    solid, box = described(photograph(shape=shape).image)
    assert bool(set(solid.category) & set(box.category)) is shared


def test_position_is_a_third_of_the_picture() -> None:
    image = np.full((90, 90, 3), (98, 66, 54), dtype=np.uint8)
    image[38:50, 8:20] = (200, 30, 30)
    (solid,) = described(image)
    assert solid.position == "left"
    assert solid.size == "normal"
    image = np.rot90(image)
    assert described(np.ascontiguousarray(image))[0].position == "bottom"


def test_an_even_picture_has_no_objects() -> None:
    assert described(np.full((64, 64, 3), 90, dtype=np.uint8)) == ()
