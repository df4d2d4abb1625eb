"""The wrapper around an agent that remembers what it was told, with a vision model that says what the test says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from rbench.action import Action, Stop
from rbench.errors import InfrastructureError, StartError
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.interfaces.vision import Question
from rbench.observation import CameraRequest, Observation
from rbench.testing import FakeWorld, play, scenario
from rbench.vision.opencv import OpenCv
from rbench.vision.parsing import ModelText
from rbench.vision.scripted import ScriptedVision
from rbench_agent_sgl.options import Options
from rbench_agent_sgl.wrapper import Sgl

I1 = "Put the geometry into the box."


class Told(Agent):
    """Remembers the instruction and a draw of its generator, and stops."""

    def __init__(self, cameras: Mapping[str, CameraRequest] | None = None, primary: str | None = "front") -> None:
        self.cameras = {"front": CameraRequest(48, 64)} if cameras is None else cameras
        self.primary = primary

    @property
    def manifest(self) -> AgentManifest:
        return AgentManifest(actions=("waypoints",), cameras=self.cameras, primary=self.primary)

    def reset(self, start: EpisodeStart) -> None:
        self.told = start.instruction
        self.drawn = float(start.rng.random())

    def act(self, observation: Observation) -> Action:
        return Stop("heard")

    def report(self) -> Mapping[str, Any]:
        return {"told": self.told}


def item(number: int, role: str, name: str, **said: Any) -> dict[str, Any]:
    plain = {"category": [], "color": "", "size": "normal", "position": "normal", "state": "solid"}
    return {"ID": number, "object_type": f"{role} object", "name": name} | plain | said


CUBE = item(1, "manipulation", "cube", category=["geometry", "rectangular shape"], color="red", size="small")
BOX = item(2, "receiver", "box", category=["rectangular shape"], color="yellow", size="big", state="hollow")


class Replies:
    """A script that gives its replies in turn, the last one again and again, and remembers the questions."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.questions: list[Question] = []

    def __call__(self, question: Question, rng: np.random.Generator) -> Any:
        self.questions.append(question)
        rng.random()
        said = self.replies[min(len(self.questions), len(self.replies)) - 1]
        return said if isinstance(said, (str, ModelText)) else json.dumps(said)


def heard(instruction: str, *replies: Any, **options: Any) -> dict[str, Any]:
    """The trace of one episode; `told` is what reached the agent."""
    script = replies[0] if isinstance(replies[0], Replies) else Replies(*replies)
    inner = Told()
    wrapper = Sgl(Options(**options), AgentContext(vision=ScriptedVision(script)), inner)
    start = scenario("a", 0.49, 0.03, 10.0).told(instruction)
    assert play(wrapper, FakeWorld(), start).reason == "heard"
    report = dict(wrapper.report())
    assert report["told"] == inner.told
    json.dumps(report, allow_nan=False)
    return {"told": inner.told, **report["sgl"]}


@pytest.mark.parametrize(
    ("instruction", "told"),
    [
        (I1, "Put the red cube into the yellow box."),
        ("Pick up the object and place it in the box.", "Pick up the red cube and place it in the yellow box."),
        ("The geometry should end up inside the box.", "The red cube should end up inside the yellow box."),
        ("stack the cube", "Put the red cube into the yellow box."),
        ("把物体放进盒子里", "Put the red cube into the yellow box."),
    ],
)
def test_the_agent_is_told_which_objects_are_meant(instruction: str, told: str) -> None:
    assert heard(instruction, [CUBE, BOX])["told"] == told


def test_the_worked_example_of_the_paper() -> None:
    """ "Stack the cube" names the cube below too; the comparative of the paper's own text is no attribute."""
    small = item(1, "manipulation", "cube", category=["geometry"], color="red", size="small")
    large = item(2, "receiver", "cube", category=["geometry"], color="red", size="big")
    assert heard("stack the cube", [small, large])["told"] == "Put the small cube on the big cube."


def test_left_red_cube() -> None:
    mine = CUBE | {"position": "left", "category": ["geometry"], "size": "normal"}
    others = [
        item(3, "other", "cube", color="red", position="right"),
        item(4, "other", "cube", color="green", position="left"),
    ]
    told = heard("Put the cube into the box.", [mine, BOX, *others])["told"]
    assert told == "Put the left red cube into the box."


def test_the_trace_holds_everything_that_led_there() -> None:
    trace = heard(I1, [CUBE, BOX])
    assert trace["original"] == I1
    assert trace["refined"] == trace["told"]
    assert [o["name"] for o in trace["objects"]] == ["cube", "box"]
    assert (trace["manip_id"], trace["receiver_id"]) == (1, 2)
    assert trace["colliders"] == {"1": [2], "2": [1]}
    assert trace["chosen"] == {"1": ["color"], "2": ["color"]}
    assert (trace["fallback"], trace["reason"], trace["unresolved"]) == (False, None, False)
    assert (trace["attempts"], trace["action"]) == (1, "grammar")
    assert [q["question"] for q in trace["questions"]] == ["sgl.scene/1"]


def test_the_question_shows_the_first_picture_and_the_instruction() -> None:
    script = Replies([CUBE, BOX])
    heard(I1, script)
    (question,) = script.questions
    assert f'"{I1}"' in question.prompt
    assert question.images[0].shape == (48, 64, 3)


def test_what_is_not_ambiguous_gets_its_name_and_no_attribute() -> None:
    cube = CUBE | {"category": ["geometry"]}
    box = BOX | {"category": ["container"]}
    assert heard(I1, [cube, box])["told"] == "Put the cube into the box."
    assert heard(I1, [cube, box], prefix_when_unambiguous=True)["told"] == "Put the red cube into the yellow box."


def test_a_noun_that_says_nothing_gives_way_to_that_of_the_instruction() -> None:
    cube = CUBE | {"name": "object"}
    assert heard("Put the die into the box.", [cube, BOX])["told"] == "Put the red die into the yellow box."
    assert heard(I1, [cube, BOX])["told"] == "Put the red object into the yellow box."


def test_no_word_stands_twice() -> None:
    assert heard(I1, [CUBE | {"name": "red cube"}, BOX])["told"] == "Put the red cube into the yellow box."


def test_compound_colours_are_used_as_they_are() -> None:
    assert "purple blue cube" in heard(I1, [CUBE | {"color": "purple blue"}, BOX])["told"]


def test_twins_are_flagged() -> None:
    twin = CUBE | {"ID": 3, "object_type": "other object"}
    cube = CUBE | {"position": "normal"}
    trace = heard(I1, [cube, BOX, twin])
    assert trace["unresolved"] is True
    assert trace["fallback"] is False


def test_only_names_can_count_for_ambiguity() -> None:
    assert heard(I1, [CUBE, BOX], shared="name_only")["told"] == "Put the cube into the box."


@pytest.mark.parametrize(
    ("replies", "asked"),
    [
        (["What a nice table.", [CUBE, BOX]], 2),
        ([[BOX], [CUBE, CUBE, BOX], [CUBE, BOX]], 3),
        ([[CUBE, BOX | {"ID": 1}], [CUBE, BOX]], 2),
        ([[CUBE, {"ID": 2}], [CUBE, BOX]], 2),
    ],
    ids=["no JSON", "wrong counts", "duplicate ids", "missing keys"],
)
def test_it_asks_again_when_an_answer_cannot_be_used(replies: list[Any], asked: int) -> None:
    trace = heard(I1, *replies)
    assert (trace["attempts"], trace["fallback"]) == (asked, False)


@pytest.mark.parametrize(
    ("reply", "reason", "asked"),
    [
        ("What a nice table.", "unparsable", 3),
        ("", "empty", 3),
        ([], "0 manipulation objects", 3),
        ([CUBE, CUBE | {"ID": 3}], "2 manipulation objects", 3),
        ([CUBE, CUBE | {"object_type": "other object"}], "duplicate ids", 3),
        ([{"ID": 1}], "invalid", 3),
        ("I'm sorry, I can't help with that.", "refused", 1),
        (ModelText(json.dumps([CUBE, BOX]), finish_reason="length"), "truncated", 1),
        ([CUBE], "receiver missing", 1),
    ],
)
def test_where_it_cannot_it_tells_the_original_and_says_why(reply: Any, reason: str, asked: int) -> None:
    trace = heard(I1, reply)
    assert trace["told"] == I1
    assert (trace["fallback"], trace["reason"], trace["attempts"]) == (True, reason, asked)


def test_an_empty_instruction_stays_empty() -> None:
    trace = heard("", [CUBE, BOX])
    assert (trace["told"], trace["reason"]) == ("", "no instruction")


def test_a_receiver_that_the_model_overlooked_is_found_among_the_others() -> None:
    trace = heard(I1, [CUBE, BOX | {"object_type": "other object"}])
    assert (trace["told"], trace["receiver_id"]) == ("Put the red cube into the yellow box.", 2)
    assert heard(I1, [CUBE, BOX | {"object_type": "other object"}], promote_receiver=False)["fallback"]


def test_of_two_that_could_be_the_receiver_none_is_taken() -> None:
    boxes = [BOX | {"object_type": "other object", "ID": number} for number in (2, 3)]
    assert heard(I1, [CUBE, *boxes])["reason"] == "receiver missing"


def test_an_instruction_without_a_receiver_can_stay_so() -> None:
    assert heard("Lift the cube.", [CUBE, BOX], receiver_unsaid="ignore")["told"] == "Lift the red cube."
    assert heard("Lift the cube.", [CUBE])["told"] == "Lift the cube."
    assert heard("举起来", [CUBE, BOX], receiver_unsaid="ignore")["reason"] == "receiver unsaid"


def test_the_action_can_come_from_the_model() -> None:
    script = Replies([CUBE, BOX], {"action": "Drop <object> into <receiver>"})
    trace = heard("把物体放进盒子里", script, action="model")
    assert trace["told"] == "Drop the red cube into the yellow box"
    assert [q["question"] for q in trace["questions"]] == ["sgl.scene/1", "sgl.action/1"]
    assert trace["attempts"] == 1


@pytest.mark.parametrize("said", ["no idea", {"action": "Put it there"}, {"action": "<object> <object>"}])
def test_an_action_without_its_slots_gives_way_to_the_grammar(said: Any) -> None:
    trace = heard(I1, [CUBE, BOX], said, action="model")
    assert (trace["told"], trace["action"]) == ("Put the red cube into the yellow box.", "grammar")


def test_an_action_that_forgets_the_receiver_is_not_used() -> None:
    trace = heard(I1, [CUBE, BOX], {"action": "Drop <object>"}, action="model")
    assert (trace["told"], trace["action"]) == ("Put the red cube into the yellow box.", "template")


def test_a_model_that_is_away_is_nobodys_failure() -> None:
    def away(question: Question, rng: np.random.Generator) -> str:
        raise InfrastructureError("connection refused; is the server running?")

    wrapper = Sgl(None, AgentContext(vision=ScriptedVision(away)), Told())
    played = play(wrapper, FakeWorld(), scenario("a", 0.49, 0.03, 10.0))
    assert isinstance(played.raised, InfrastructureError)


def test_the_agent_draws_what_it_drew_without_the_wrapper() -> None:
    alone, inside = Told(), Told()
    play(alone, FakeWorld(), scenario("a", 0.49, 0.03, 10.0))
    wrapper = Sgl(None, AgentContext(vision=ScriptedVision(Replies([CUBE, BOX]))), inside)
    play(wrapper, FakeWorld(), scenario("a", 0.49, 0.03, 10.0))
    assert inside.drawn == alone.drawn


def wrapped(inner: Agent, **options: Any) -> Sgl:
    return Sgl(Options(**options), AgentContext(vision=OpenCv()), inner)


@pytest.mark.parametrize(
    ("inner", "options", "cameras"),
    [
        (Told(), {}, {"front": CameraRequest(48, 64)}),
        (Told({}, None), {}, {"front": CameraRequest(224, 224)}),
        (
            Told({"front": CameraRequest(48, 64, ("depth",))}),
            {},
            {"front": CameraRequest(48, 64, ("rgb", "depth"))},
        ),
        (Told({"wrist": CameraRequest(32, 32)}, None), {}, {"wrist": CameraRequest(32, 32)}),
        (
            Told(),
            {"camera": "left_top", "height": 96, "width": 128},
            {"front": CameraRequest(48, 64), "left_top": CameraRequest(96, 128)},
        ),
    ],
    ids=["its own", "none", "depth only", "no primary", "another"],
)
def test_an_agent_is_given_a_camera_more_only_where_it_has_no_such_picture(
    inner: Told, options: dict[str, Any], cameras: dict[str, CameraRequest]
) -> None:
    assert wrapped(inner, **options).manifest.cameras == cameras


def test_around_itself_nothing_that_was_asked_is_forgotten() -> None:
    inner = wrapped(Told())
    outer = wrapped(inner)
    play(outer, FakeWorld(), scenario("a", 0.49, 0.03, 10.0))
    report = outer.report()["sgl"]
    assert len(report["questions"]) == len(report["inner"]["questions"]) == 1


def test_the_embedded_eye_answers_it() -> None:
    inner = Told()
    play(wrapped(inner), FakeWorld(), scenario("a", 0.49, 0.03, 10.0).told(I1))
    assert inner.told == "Put the red object into the yellow box."


def test_without_a_vision_model_it_says_how_to_choose_one() -> None:
    with pytest.raises(StartError, match="--vision"):
        Sgl(None, AgentContext(), Told())


@pytest.mark.parametrize(
    "options",
    [{"priority": ("color", "color")}, {"priority": ()}, {"order": ("color",)}, {"max_attributes": 0}, {"attempts": 9}],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Options(**options)
