"""An episode's questions and their record."""

from __future__ import annotations

import numpy as np
import pytest

from rbench.errors import InfrastructureError, NoAnswer
from rbench.interfaces.vision import Question, Reply, Usage, VisionModel
from rbench.vision.asking import RAW_LIMIT, Interview
from rbench.vision.questions import Box, PickAndPlace
from rbench.vision.scripted import ScriptedVision

QUESTION = Question("test.locate/1", "Where?", (np.zeros((10, 10, 3), dtype=np.uint8),), PickAndPlace)
ANSWER = PickAndPlace(start="cube", start_xyxy=Box((1, 1, 2, 2)), end="box", end_xyxy=None)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


class Metered(VisionModel):
    """Says what it cost."""

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        return Reply(ANSWER, ("fence",), Usage("qwen", 900, 40, 0.002), raw="...")


def test_a_question_is_recorded_with_repairs_tokens_and_cost() -> None:
    interview = Interview(Metered(), rng())
    assert interview.ask(QUESTION) == ANSWER
    assert interview.plain() == [
        {
            "question": "test.locate/1",
            "outcome": "answered",
            "repairs": ["fence"],
            "model": "qwen",
            "tokens_in": 900,
            "tokens_out": 40,
            "cost": 0.002,
        }
    ]
    assert interview.seconds >= 0


def test_the_plain_record_holds_no_wall_time() -> None:
    first, second = Interview(Metered(), rng()), Interview(Metered(), rng())
    for interview in (first, second):
        interview.ask(QUESTION)
    assert first.plain() == second.plain()


def test_a_reply_that_was_no_answer_is_recorded_raw_and_passed_on() -> None:
    interview = Interview(ScriptedVision(lambda q, r: "no idea " * 1000), rng())
    with pytest.raises(NoAnswer):
        interview.ask(QUESTION)
    (record,) = interview.plain()
    assert record["outcome"] == "unparsable"
    assert record["raw"] == ("no idea " * 1000)[:RAW_LIMIT]


def test_a_server_that_is_away_is_not_the_agents_fault() -> None:
    def away(question: Question, rng: np.random.Generator) -> str:
        raise InfrastructureError("no route to host; check the network")

    with pytest.raises(InfrastructureError):
        Interview(ScriptedVision(away), rng()).ask(QUESTION)


def test_randomness_comes_from_the_episode_alone() -> None:
    def noisy(question: Question, rng: np.random.Generator) -> PickAndPlace:
        x = float(rng.uniform(0, 5))
        return PickAndPlace(start="cube", start_xyxy=Box((x, 1, x + 2, 2)), end="box", end_xyxy=None)

    model = ScriptedVision(noisy)
    first = [Interview(model, rng()).ask(QUESTION) for _ in range(2)]
    assert first[0] == first[1]
    both = Interview(model, rng())
    assert both.ask(QUESTION) != both.ask(QUESTION)


def test_a_wrapper_may_put_a_model_around_the_model() -> None:
    class Renamed(VisionModel):
        def __init__(self, inner: VisionModel) -> None:
            self.inner = inner

        def ask(self, question: Question, rng: np.random.Generator) -> Reply:
            reply = self.inner.ask(question, rng)
            return Reply(reply.value.model_copy(update={"start": "thing"}), reply.repairs, reply.usage)

    assert Interview(Renamed(Metered()), rng()).ask(QUESTION).start == "thing"
