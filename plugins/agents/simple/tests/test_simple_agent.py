"""The agent on a traced picture, with a vision model that says what the test tells it to."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from rbench.action import JointPositions, Stop, Waypoints, checked_action
from rbench.errors import InfrastructureError, StartError
from rbench.geometry import OPENGL_TO_OPENCV, Pose, look_at
from rbench.interfaces.agent import AgentContext, EpisodeStart, RobotFacts
from rbench.interfaces.vision import Question
from rbench.observation import CameraRequest, CameraView, Intrinsics, Observation
from rbench.vision.coordinates import CoordinateSpace, Frame
from rbench.vision.parsing import ModelText
from rbench.vision.questions import PickAndPlace
from rbench.vision.scripted import ScriptedVision
from rbench_agent_simple.agent import SimpleAgent
from rbench_agent_simple.options import Options

SIZE = 112
OBJECT, BOX = [30, 40, 50, 60], [60, 20, 100, 50]


def reply(**changes: object) -> str:
    return json.dumps({"start": "cube", "start_xyxy": OBJECT, "end": "box", "end_xyxy": BOX} | changes)


def observation(depth: float = 0.5) -> Observation:
    """A camera half a metre above a table that looks straight down; `depth` is what its depth image says."""
    pose = look_at((0.5, 0.0, 0.5), (0.5, 0.0, 0.0), (-1.0, 0.0, 0.0)).matrix()
    pose[:3, :3] = pose[:3, :3] @ OPENGL_TO_OPENCV
    images = {
        "rgb": np.full((SIZE, SIZE, 3), 90, dtype=np.uint8),
        "depth": np.full((SIZE, SIZE), depth, dtype=np.float32),
    }
    request = CameraRequest(SIZE, SIZE, ("rgb", "depth"))
    lens = Intrinsics(120.0, 120.0, (SIZE - 1) / 2, (SIZE - 1) / 2)
    view = CameraView("front", request, lens, lambda: pose, lambda channel: images[channel])
    return Observation(
        time=0.0,
        cameras={"front": view},
        joint_positions=np.zeros(7),
        joint_velocities=np.zeros(7),
        gripper=0.0,
        end_effector=Pose((0.4, 0.0, 0.4)),
    )


def start(instruction: str = "Put the object into the box.") -> EpisodeStart:
    robot = RobotFacts("panda", (-3.0,) * 7, (3.0,) * 7, (2.0,) * 7, 0.08, Pose())
    return EpisodeStart(instruction, observation(), robot, 20, np.random.default_rng(0))


class Replies:
    """A script that gives its replies in turn, and remembers the questions."""

    def __init__(self, *replies: str | ModelText) -> None:
        self.replies = list(replies)
        self.questions: list[Question] = []

    def __call__(self, question: Question, rng: np.random.Generator) -> str | ModelText:
        self.questions.append(question)
        return self.replies[min(len(self.questions), len(self.replies)) - 1]


def agent(script: Callable[..., object], **options: object) -> SimpleAgent:
    context = AgentContext(vision=ScriptedVision(script))  # type: ignore[arg-type]
    return SimpleAgent(Options(height=SIZE, width=SIZE, **options), context)  # type: ignore[arg-type]


def act(made: SimpleAgent) -> Waypoints | Stop:
    made.reset(start())
    return made.act(observation())


def test_it_declares_the_one_camera_it_acts_on() -> None:
    manifest = agent(Replies(), camera="left_top").manifest
    assert manifest.primary == "left_top"
    assert manifest.cameras == {"left_top": CameraRequest(SIZE, SIZE, ("rgb", "depth"))}
    assert not manifest.privileged


def test_it_moves_once_and_stops() -> None:
    made = agent(Replies(reply()))
    chunk = act(made)
    assert isinstance(checked_action(chunk, "simple", made.manifest.actions), Waypoints)
    assert made.act(observation()) == Stop("done")


def test_it_opens_goes_down_closes_lifts_carries_and_lets_go() -> None:
    chunk = act(agent(Replies(reply())))
    assert isinstance(chunk, Waypoints)
    assert [goal.gripper for goal in chunk.goals] == [0, 0, 1, 1, 1, 1, 0, 0]
    above, low, _, lifted, carried, release, _, away = (goal.position for goal in chunk.goals)
    assert above[:2] == low[:2] == lifted[:2]
    assert carried[:2] == release[:2] == away[:2]
    assert low[2] < above[2] == lifted[2] == carried[2]
    assert {goal.quaternion for goal in chunk.goals} == {(0.0, 1.0, 0.0, 0.0)}


def test_it_never_goes_into_the_table() -> None:
    chunk = act(agent(Replies(reply()), grasp_depth=0.1))
    assert isinstance(chunk, Waypoints)
    assert min(goal.position[2] for goal in chunk.goals) >= 0.012 - 1e-9


def test_the_question_holds_the_instruction_the_picture_and_a_place_for_the_coordinates() -> None:
    script = Replies(reply())
    act(agent(script))
    (question,) = script.questions
    assert question.name == "simple.locate/1"
    assert '"Put the object into the box."' in question.prompt
    assert "{coordinates}" in question.prompt
    assert question.answer is PickAndPlace
    assert (question.images[0] == 90).all()


def test_it_asks_again_until_an_answer_can_be_used() -> None:
    script = Replies("It is on the left.", reply(start_xyxy=[50, 60, 30, 40]), reply())
    assert isinstance(act(agent(script)), Waypoints)
    assert len(script.questions) == 3


@pytest.mark.parametrize("attempts", [1, 4])
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Somewhere.", "ground_parse"),
        ("", "ground_parse"),
        ('{"start": "cube"}', "ground_parse"),
        (reply(end_xyxy=[100, 50, 60, 20]), "bad_boxes"),
        (reply(start_xyxy=[10, 10, 10, 30]), "bad_boxes"),
        (reply(start_xyxy=[0, 0, 200, 200]), "bad_boxes"),
    ],
)
def test_it_gives_up_after_its_attempts_with_the_reason(said: str, reason: str, attempts: int) -> None:
    script = Replies(said)
    assert act(agent(script, attempts=attempts)) == Stop(reason)
    assert len(script.questions) == attempts


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (ModelText(reply(), finish_reason="length"), "truncated"),
        (reply()[:-20], "truncated"),
        ("I'm sorry, I can't help with that.", "refused"),
        (reply(start_xyxy=None), "not_detected"),
        (reply(end_xyxy=None), "not_detected"),
    ],
)
def test_it_does_not_ask_the_same_again_where_that_cannot_help(said: str | ModelText, reason: str) -> None:
    script = Replies(said)
    assert act(agent(script)) == Stop(reason)
    assert len(script.questions) == 1


def test_a_box_on_nothing_is_no_depth() -> None:
    made = agent(Replies(reply()))
    made.reset(start())
    assert made.act(observation(depth=float("inf"))) == Stop("no_depth")


def test_the_report_holds_questions_boxes_and_points() -> None:
    made = agent(Replies("what?", reply()))
    act(made)
    report = made.report()
    assert [q["outcome"] for q in report["questions"]] == ["unparsable", "answered"]
    assert report["questions"][0]["raw"] == "what?"
    assert report["start"]["box"] == OBJECT
    assert report["end"]["label"] == "box"
    assert len(report["end"]["top"]) == 3
    json.dumps(report, allow_nan=False)


def test_the_time_it_waited_for_answers_is_told_apart_from_the_report() -> None:
    made = agent(Replies(reply()))
    act(made)
    assert made.timing()["vision"] > 0
    made.reset(start())
    assert made.timing() == {"vision": 0}


def test_nothing_of_an_episode_reaches_the_next() -> None:
    made = agent(Replies(reply()))
    act(made)
    made.reset(start())
    assert made.report() == {"questions": [], "lift": "depth", "stages": []}
    assert isinstance(made.act(observation()), Waypoints)


def test_a_model_that_is_away_is_not_its_failure() -> None:
    def away(question: Question, rng: np.random.Generator) -> str:
        raise InfrastructureError("connection refused; is the server running?")

    with pytest.raises(InfrastructureError):
        act(agent(away))


def planned(*functions: str) -> str:
    return json.dumps({"function": functions, "response": "Yes."})


def actions_of(made: SimpleAgent, instruction: str = "Put the object into the box.") -> list[object]:
    made.reset(start(instruction))
    done: list[object] = []
    while not done or not isinstance(done[-1], Stop):
        done.append(checked_action(made.act(observation()), "simple", made.manifest.actions))
    return done


def test_a_planner_is_asked_first_and_its_calls_are_carried_out() -> None:
    script = Replies(planned("vlm_move('move the cube into the box')", "back_zero()"), reply())
    moved, home, stop = actions_of(agent(script, planner="llm"))
    assert [q.name for q in script.questions] == ["simple.plan/1", "simple.locate/1"]
    assert '"move the cube into the box"' in script.questions[1].prompt
    assert isinstance(moved, Waypoints) and len(moved.goals) == 8
    assert isinstance(home, Waypoints) and home.goals[0].position == start().observation.end_effector.position
    assert stop == Stop("done")


def test_the_gripper_and_waiting_are_motions_too() -> None:
    made = agent(Replies(planned("pump_on()", "wait(0.5)", "pump_off()", "move_to_top_view()")), planner="llm")
    close, wait, open_, away, _ = actions_of(made)
    assert isinstance(close, Waypoints) and close.goals[0].gripper == 1.0
    assert isinstance(wait, JointPositions) and wait.rows.shape == (10, 8) and (wait.rows[:, 7] == 1.0).all()
    assert isinstance(open_, Waypoints) and open_.goals[0].gripper == 0.0
    assert isinstance(away, Waypoints) and away.goals[0].gripper == 0.0


def test_refused_calls_are_left_out_and_counted() -> None:
    made = agent(Replies(planned("eval('1')", "back_zero()", "head_dance()")), planner="llm")
    assert len(actions_of(made)) == 2
    plan = made.report()["plan"]
    assert plan["calls"] == [["back_zero"]]
    assert plan["refused_calls"] == 2
    assert [r["call"] for r in plan["refused"]] == ["eval('1')", "head_dance()"]
    json.dumps(made.report(), allow_nan=False)


@pytest.mark.parametrize(
    ("said", "reason", "asked"),
    [
        ("Sure, I will.", "plan_parse", 4),
        ('{"response": "no"}', "plan_parse", 4),
        (planned(*["back_zero()"] * 21), "plan_parse", 4),
        (planned(), "empty_plan", 1),
        (planned("dance()"), "empty_plan", 1),
        (planned("back_zero()")[:-9], "truncated", 1),
        ("I'm sorry, I can't help with that.", "refused", 1),
    ],
)
def test_without_a_plan_it_stops_with_the_reason(said: str, reason: str, asked: int) -> None:
    script = Replies(said)
    assert actions_of(agent(script, planner="llm")) == [Stop(reason)]
    assert len(script.questions) == asked


@pytest.mark.parametrize("space", ["norm999", "norm1000", "unit", "abs", "abs_resized"])
def test_all_coordinate_spaces_end_in_the_same_pixels(space: CoordinateSpace) -> None:
    frame = Frame(space, (SIZE, SIZE))
    boxes = {"start_xyxy": frame.from_pixels((30, 40, 50, 60)), "end_xyxy": frame.from_pixels((60, 20, 100, 50))}
    vision = ScriptedVision(lambda question, rng: reply(**boxes), space)
    made = SimpleAgent(Options(height=SIZE, width=SIZE), AgentContext(vision=vision))
    act(made)
    assert made.report()["start"]["box"] == pytest.approx(OBJECT)
    assert made.report()["end"]["box"] == pytest.approx(BOX)


def test_two_point_needs_no_depth() -> None:
    made = agent(Replies(reply()), lift="two_point")
    assert made.manifest.cameras["front"].channels == ("rgb",)
    assert isinstance(act(made), Waypoints)
    assert made.report()["lift"] == "two_point"


def test_without_a_vision_model_it_says_how_to_choose_one() -> None:
    with pytest.raises(StartError, match="--vision"):
        SimpleAgent(Options(), AgentContext())
