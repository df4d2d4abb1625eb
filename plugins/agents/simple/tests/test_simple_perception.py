"""With boxes from ground truth nearly every episode succeeds, so what is lost otherwise is lost by seeing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from rbench.design import Episode
from rbench.errors import StartError
from rbench.interfaces.agent import Agent, AgentContext
from rbench.interfaces.vision import Question, VisionModel
from rbench.interfaces.world import World
from rbench.plugins.catalog import build_catalog
from rbench.running.episode import EpisodeRunner
from rbench.running.worker import build_world
from rbench.simulation.gl import choose_gl
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.vision.opencv import OpenCv
from rbench.vision.questions import Box, PickAndPlace
from rbench.vision.scripted import ScriptedVision
from rbench_agent_simple.agent import SimpleAgent
from rbench_agent_simple.options import Options

pytestmark = pytest.mark.gl
SUITE = "roboview-bias"


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(build_catalog(), SUITE)


@pytest.fixture(scope="module")
def world(suite: Suite) -> Iterator[World]:
    try:
        choose_gl()
    except StartError as problem:
        pytest.skip(str(problem))
    made = build_world(suite)
    yield made
    made.close()


def truth(world: World) -> VisionModel:
    """Perfect perception: the boxes of the visible pixels of object and box, from the simulator's masks."""

    def script(question: Question, rng: np.random.Generator) -> PickAndPlace:
        height, width = question.images[0].shape[:2]
        masks = world.masks("front", height, width)
        boxes = []
        for name in ("geometry", "box"):
            rows, columns = np.nonzero(masks[name])
            boxes.append(Box((columns.min(), rows.min(), columns.max() + 1.0, rows.max() + 1.0)))
        return PickAndPlace(start="geometry", start_xyxy=boxes[0], end="box", end_xyxy=boxes[1])

    return ScriptedVision(script)


def successes(suite: Suite, world: World, vision: VisionModel, options: Options, repeats: int) -> list[bool]:
    """Outcomes at the baseline colour and camera in every context."""
    agent: Agent = SimpleAgent(options, AgentContext(vision=vision))
    runner = EpisodeRunner(suite, world, agent, "simple", agent.manifest, 0)
    manager = RecursiveVariantTaskManager(suite)
    instances = [manager.instance(f"color/red/{context.name}") for context in suite.contexts]
    records = [runner.run(Episode(i, repeat)).record for i in instances for repeat in range(repeats)]
    assert {r.outcome for r in records} <= {"success", "failure"}
    return [r.success for r in records]


def test_with_perfect_perception_97_percent_succeed(suite: Suite, world: World) -> None:
    outcomes = successes(suite, world, truth(world), Options(), repeats=5)
    assert len(outcomes) == 55
    assert np.mean(outcomes) >= 0.97


def test_with_classical_vision_80_percent_succeed(suite: Suite, world: World) -> None:
    assert np.mean(successes(suite, world, OpenCv(), Options(), repeats=2)) >= 0.8
