"""Every coordinate space ends in the same pixels."""

from __future__ import annotations

import json

import pytest

from rbench.interfaces.vision import Question
from rbench.vision.coordinates import CoordinateSpace, Frame
from rbench.vision.parsing import ModelText, parse_answer
from rbench.vision.questions import Box, Located, PickAndPlace, prompt_text

ASKED = (480, 640)
PIXELS = (160.0, 120.0, 320.0, 240.0)

FRAMES: dict[str, tuple[Frame, tuple[float, float, float, float]]] = {
    "norm999": (Frame("norm999", ASKED), (249.75, 249.75, 499.5, 499.5)),
    "norm1000": (Frame("norm1000", ASKED), (250, 250, 500, 500)),
    "unit": (Frame("unit", ASKED), (0.25, 0.25, 0.5, 0.5)),
    "abs": (Frame("abs", ASKED), PIXELS),
    "abs of a smaller image": (Frame("abs", ASKED, sent=(240, 320)), (80, 60, 160, 120)),
    "abs_resized": (Frame("abs_resized", ASKED, seen=(476, 644)), (161, 119, 322, 238)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_known_box_lands_on_the_same_pixels(name: str) -> None:
    frame, numbers = FRAMES[name]
    assert frame.to_pixels(numbers) == pytest.approx(PIXELS, abs=1e-9)


@pytest.mark.parametrize("name", FRAMES)
def test_conversion_is_undone_by_its_inverse(name: str) -> None:
    frame, numbers = FRAMES[name]
    assert frame.from_pixels(PIXELS) == pytest.approx(numbers, abs=1e-9)


@pytest.mark.parametrize("name", FRAMES)
def test_the_parser_converts_boxes_of_text(name: str) -> None:
    frame, numbers = FRAMES[name]
    text = json.dumps({"start": "a", "start_xyxy": numbers, "end": "b", "end_xyxy": [numbers[:2], numbers[2:]]})
    answer = parse_answer(ModelText(text), PickAndPlace, frame).value
    assert answer.start_xyxy.root == pytest.approx(PIXELS, abs=1e-9)
    assert answer.end_xyxy.root == pytest.approx(PIXELS, abs=1e-9)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ("norm999", "0 to 999"),
        ("norm1000", "0 to 1000"),
        ("unit", "from 0 to 1"),
        ("abs", "320 pixels wide and 240 pixels high. Give coordinates in pixels"),
        ("abs_resized", "308 pixels wide and 252 pixels high. Give coordinates in pixels"),
    ],
)
def test_the_prompt_says_size_and_convention(space: CoordinateSpace, words: str) -> None:
    question = Question("q/1", "Find it. {coordinates} Answer {json}.", (), PickAndPlace)
    text = prompt_text(question, Frame(space, ASKED, sent=(240, 320), seen=(252, 308)))
    assert words in text
    assert text.endswith("Answer {json}.")


def test_a_box_without_a_frame_is_in_pixels_already() -> None:
    assert Located(label="cube", box=Box((1, 2, 3, 6))).box.center == (2, 4)


def test_a_box_is_written_as_four_numbers() -> None:
    assert json.loads(Located(label="cube", box=Box((1, 2, 3, 6))).model_dump_json())["box"] == [1, 2, 3, 6]
