"""Plans and motions as models write them, and those of the embedded eye."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rbench.errors import NoAnswer
from rbench.interfaces.vision import Question
from rbench.vision.coordinates import Frame
from rbench.vision.manipulation import ManipulationPlan, MarkedMotion
from rbench.vision.opencv import OpenCv
from rbench.vision.parsing import ModelText, parse_answer

STEP = {"instruction": "put it in", "object_grasped": "red cube", "object_unattached": "box"}
MOTION = {
    "grasp_keypoint": "P1",
    "function_keypoint": "",
    "target_keypoint": "Q1",
    "target_tile": "b3",
    "pre_contact_tile": "c3",
    "post_contact_tile": "",
    "pre_contact_height": "same",
    "post_contact_height": "above",
    "target_angle": "forward",
}
FRAME = Frame("abs", (100, 100))


def plan(text: str) -> ManipulationPlan:
    value = parse_answer(ModelText(text), ManipulationPlan, FRAME).value
    assert isinstance(value, ManipulationPlan)
    return value


def motion(**changes: object) -> MarkedMotion:
    value = parse_answer(ModelText(json.dumps(MOTION | changes)), MarkedMotion, FRAME).value
    assert isinstance(value, MarkedMotion)
    return value


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([STEP]),
        f"```json\n{json.dumps([STEP])}\n```",
        f"Here is the plan:\n{json.dumps([STEP])} // one step",
        json.dumps(STEP),
        json.dumps({"subtasks": [STEP]}),
        str([STEP]),
    ],
)
def test_a_plan_is_read_as_a_person_would_read_it(text: str) -> None:
    assert [step.object_grasped for step in plan(text).root] == ["red cube"]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "[1]",
        '[{"instruction": "x", "object_grasped": "cube"}]',
        json.dumps([{**STEP, "object_grasped": "", "object_unattached": ""}]),
        json.dumps([{**STEP, "object_grasped": ["cube"]}]),
        json.dumps([STEP] * 51),
    ],
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(NoAnswer):
        plan(text)


def test_a_plan_that_is_cut_off_is_never_run_as_if_it_were_whole() -> None:
    with pytest.raises(NoAnswer) as problem:
        plan(json.dumps([STEP, STEP])[:-30])
    assert problem.value.kind == "truncated"


@pytest.mark.parametrize("nothing", [None, "", "None", "null"])
def test_nothing_is_written_in_many_ways(nothing: str | None) -> None:
    assert plan(json.dumps([{**STEP, "object_unattached": nothing}])).root[0].object_unattached == ""
    assert motion(function_keypoint=nothing).function_keypoint == ""
    assert motion(post_contact_tile=nothing).post_contact_tile == ""


def test_marks_are_upper_case_tiles_and_heights_lower_case() -> None:
    said = motion(grasp_keypoint="p3", target_keypoint=" q2", pre_contact_tile="C3 ", pre_contact_height="Same")
    assert (said.grasp_keypoint, said.target_keypoint) == ("P3", "Q2")
    assert (said.pre_contact_tile, said.pre_contact_height) == ("c3", "same")


@pytest.mark.parametrize(
    "changes",
    [
        {"grasp_keypoint": "R1"},
        {"grasp_keypoint": "P0"},
        {"grasp_keypoint": 1},
        {"pre_contact_tile": "3c"},
        {"pre_contact_height": "lower"},
        {"target_angle": "x" * 100},
    ],
)
def test_what_is_no_mark_tile_or_height_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(NoAnswer):
        motion(**changes)


def picture() -> np.ndarray:
    image = np.full((200, 200, 3), (60, 50, 45), dtype=np.uint8)
    image[130:160, 130:160] = (220, 30, 30)
    image[20:90, 20:90] = (230, 190, 0)
    return image


def asked(answer: type) -> object:
    question = Question("test/1", "What now?", (picture(),), answer)
    return OpenCv().ask(question, np.random.default_rng(0)).value


def test_the_embedded_eye_plans_to_put_the_solid_into_the_box() -> None:
    found = asked(ManipulationPlan)
    assert isinstance(found, ManipulationPlan)
    (step,) = found.root
    assert (step.object_grasped, step.object_unattached) == ("small solid", "open yellow box")


def test_the_embedded_eye_grasps_and_lets_go_in_the_middle() -> None:
    found = asked(MarkedMotion)
    assert isinstance(found, MarkedMotion)
    assert (found.grasp_keypoint, found.function_keypoint, found.target_keypoint) == ("P1", "", "Q1")
    assert found.target_tile == "b4"
