"""A world to look at, a model that says what it is told to, and a table seen from straight above."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from rbench.errors import StartError
from rbench.geometry import OPENGL_TO_OPENCV, Pose, look_at
from rbench.interfaces.agent import AgentContext, EpisodeStart, RobotFacts
from rbench.interfaces.vision import Question
from rbench.interfaces.world import World
from rbench.observation import CameraRequest, CameraView, Intrinsics, Observation
from rbench.plugins.catalog import build_catalog
from rbench.running.worker import build_world
from rbench.simulation.gl import choose_gl
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.vision.parsing import ModelText
from rbench.vision.scripted import ScriptedVision
from rbench_agent_moka.agent import Moka
from rbench_agent_moka.options import Options

SIZE = 112
STEP = {
    "instruction": "put the geometry into the box",
    "object_grasped": "geometry",
    "object_unattached": "box",
    "motion_direction": "downward",
}
MOTION = {
    "grasp_keypoint": "P1",
    "function_keypoint": "",
    "target_keypoint": "Q1",
    "target_tile": "b4",
    "pre_contact_tile": "b4",
    "post_contact_tile": "",
    "pre_contact_height": "above",
    "post_contact_height": "above",
    "target_angle": "forward",
}


@pytest.fixture(scope="session")
def suite() -> Suite:
    return load_suite(build_catalog(), "roboview-bias")


@pytest.fixture(scope="module")
def world(suite: Suite) -> Iterator[World]:
    try:
        choose_gl()
    except StartError as problem:
        pytest.skip(str(problem))
    made = build_world(suite)
    yield made
    made.close()


class Scripted(ScriptedVision):
    """Answers the plan questions with `steps` and the motion question with MOKA's usual answer and `changes`.

    Replies in `says`, by the beginning of the question's name, go before that, one a question. It answers from the
    prompt: a plan is taken over from the one that is to be filtered, and the marks must be on the subtask's objects.
    """

    def __init__(self, *steps: dict, says: dict[str, list[str | ModelText]] | None = None, **changes: str) -> None:
        super().__init__(self.answer)
        self.steps, self.changes, self.says = list(steps) or [STEP], changes, says or {}
        self.questions: list[Question] = []

    def answer(self, question: Question, rng: np.random.Generator) -> str | ModelText:
        self.questions.append(question)
        for name, replies in self.says.items():
            if question.name.startswith(name) and replies:
                return replies.pop(0)
        if question.name.startswith("moka.plan"):
            return json.dumps(self.steps)
        if question.name.startswith("moka.filter"):
            return question.prompt.rpartition("Plan: ")[2]
        subtask = json.loads(question.prompt.rpartition("Subtask: ")[2])
        marks = {} if subtask["object_grasped"] else {"grasp_keypoint": ""}
        marks |= {} if subtask["object_unattached"] else {"target_keypoint": ""}
        return "I look at the marks and think.\n" + json.dumps(MOTION | marks | self.changes)


@pytest.fixture
def scripted() -> type[Scripted]:
    return Scripted


@pytest.fixture
def agent() -> Callable[..., Moka]:
    def make(vision: ScriptedVision, **options: object) -> Moka:
        return Moka(Options(**{"height": SIZE, "width": SIZE} | options), AgentContext(vision=vision))

    return make


@pytest.fixture
def table() -> Observation:
    """A red block and a yellow box on a dark table, seen from straight above: x down the picture, y to its right."""
    depth = np.full((SIZE, SIZE), 0.5, dtype=np.float32)
    rgb = np.full((SIZE, SIZE, 3), (60, 50, 45), dtype=np.uint8)
    rgb[70:90, 60:80], depth[70:90, 60:80] = (220, 30, 30), 0.45
    rgb[20:60, 20:60], depth[20:60, 20:60] = (230, 190, 0), 0.45
    depth[23:57, 23:57] = 0.495
    pose = look_at((0.5, 0.0, 0.5), (0.5, 0.0, 0.0), (-1.0, 0.0, 0.0)).matrix()
    pose[:3, :3] = pose[:3, :3] @ OPENGL_TO_OPENCV
    images = {"rgb": rgb, "depth": depth}
    lens = Intrinsics(120.0, 120.0, (SIZE - 1) / 2, (SIZE - 1) / 2)
    request = CameraRequest(SIZE, SIZE, ("rgb", "depth"))
    return Observation(
        time=0.0,
        cameras={"front": CameraView("front", request, lens, lambda: pose, lambda channel: images[channel].copy())},
        joint_positions=np.zeros(7),
        joint_velocities=np.zeros(7),
        gripper=0.0,
        end_effector=Pose((0.4, 0.0, 0.4), (0.0, 1.0, 0.0, 0.0)),
    )


@pytest.fixture
def start(table: Observation) -> EpisodeStart:
    robot = RobotFacts("panda", (-3.0,) * 7, (3.0,) * 7, (2.0,) * 7, 0.08, Pose())
    return EpisodeStart("Put the geometry into the box.", table, robot, 20, np.random.default_rng(0))
