"""What a run asks is counted and kept by the runner, whatever agents tell or swallow."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel

from rbench.errors import InfrastructureError, NoAnswer, StartError, StoppedEarly
from rbench.interfaces.vision import Question, Reply, Usage, VisionModel
from rbench.running.phases import Phase, PhaseMarker
from rbench.values import from_plain, to_plain
from rbench.vision.metering import VisionMeter
from rbench.vision.question_keys import question_key
from rbench.vision.questions import PickAndPlace
from rbench.vision.spending import Spending, SpendingLimits
from rbench.vision.transcripts import Transcript, read_transcripts

ANSWER = PickAndPlace(start="cube", start_xyxy=None, end="box", end_xyxy=None)
HOSTILE = "\x1b[2J</script>\ud800\u202e\x00"


class Words(BaseModel):
    """Another form of answer."""

    words: list[str]


def question(name: str = "q/1", prompt: str = "Where?", shade: int = 0, answer: type[BaseModel] = PickAndPlace) -> Any:
    return Question(name, prompt, (np.full((8, 8, 3), shade, np.uint8),), answer)


class Model(VisionModel):
    """Does what it is told."""

    def __init__(self, *does: Any) -> None:
        self.does = list(does)
        self.calls: list[Any] = []
        self.closed = False

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        self.calls.append(question.call)
        does = self.does.pop(0) if self.does else Reply(ANSWER, usage=Usage("m", 100, 10, 0.5))
        if isinstance(does, Exception):
            raise does
        return does

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def metered() -> Callable[..., Any]:
    def make(*does: Any, limits: Any = (), transcribed: bool = True) -> tuple[VisionMeter, VisionModel, Model]:
        meter = VisionMeter(limits)
        inner = Model(*does)
        outer = meter.around(inner, "rbench/model", transcribed)
        meter.begin("a/b/c#0")
        return meter, outer, inner

    return make


def ask(model: VisionModel, what: Any = None) -> Reply:
    return model.ask(what or question(), np.random.default_rng(0))


def test_calls_outcomes_tokens_and_cost_are_counted(metered: Any) -> None:
    refused = NoAnswer("no; stop", kind="refused", raw="No.", repairs=("prose",), usage=Usage("m-2", 5, 5, 0.1))
    meter, model, _ = metered(Reply(ANSWER, ("fence",), Usage("m", 100, 10, 0.5, ("no_seed",))), refused)
    ask(model)
    with pytest.raises(NoAnswer):
        ask(model)
    assert meter.usage() == {
        "calls": 2,
        "outcomes": {"answered": 1, "refused": 1},
        "repairs": {"fence": 1, "prose": 1},
        "models": ["m", "m-2"],
        "tokens_in": 105,
        "tokens_out": 15,
        "cost": 0.6,
        "adapted": ["no_seed"],
    }
    assert meter.seconds > 0


def test_a_total_with_an_unknown_part_is_not_known(metered: Any) -> None:
    meter, model, _ = metered(Reply(ANSWER, usage=Usage("m", 100, 10)))
    ask(model)
    ask(model)
    assert (meter.usage()["tokens_in"], meter.usage()["cost"]) == (200, None)


def test_an_episode_begins_with_nothing_asked(metered: Any) -> None:
    meter, model, _ = metered()
    ask(model)
    meter.begin("a/b/c#1")
    assert meter.usage()["calls"] == 0
    assert meter.usage()["cost"] is None
    assert meter.transcript() is None


def test_a_question_is_told_its_place_in_the_episode(metered: Any) -> None:
    meter, model, inner = metered()
    for what in (question(), question(shade=1), question()):
        ask(model, what)
    meter.begin("a/b/c#1")
    ask(model)
    places = [(call.episode, call.index, call.again) for call in inner.calls]
    assert places == [("a/b/c#0", 0, 0), ("a/b/c#0", 1, 0), ("a/b/c#0", 2, 1), ("a/b/c#1", 0, 0)]


@pytest.mark.parametrize("error", [InfrastructureError, StartError, StoppedEarly])
def test_an_error_that_is_not_the_agents_cannot_be_swallowed(metered: Any, error: Any) -> None:
    meter, model, _ = metered(error("no route to host; check it"))
    with pytest.raises(error):
        ask(model)
    with pytest.raises(error, match="no route to host"):
        meter.raise_problem()
    meter.begin("a/b/c#1")
    meter.raise_problem()


def test_a_reply_that_is_no_answer_may_be_swallowed(metered: Any) -> None:
    meter, model, _ = metered(NoAnswer("no; ask again", kind="empty"))
    with pytest.raises(NoAnswer):
        ask(model)
    meter.raise_problem()


def test_a_model_that_returns_no_reply_is_named(metered: Any) -> None:
    _, model, _ = metered(ANSWER)
    with pytest.raises(StartError, match="'rbench/model' returned a PickAndPlace"):
        ask(model)


def test_models_are_closed_with_the_meter(metered: Any) -> None:
    meter, _, inner = metered()
    meter.close()
    assert inner.closed


def test_the_transcript_holds_what_was_asked_and_what_came_back(metered: Any) -> None:
    meter, model, _ = metered(
        Reply(ANSWER, ("fence",), Usage("m", 100, 10, 0.5), raw=HOSTILE), NoAnswer("no", kind="refused", raw="No.")
    )
    picture = question(shade=7)
    ask(model, picture)
    picture.images[0][:] = 0  # what an agent draws on its picture afterwards
    with pytest.raises(NoAnswer):
        ask(model, question(prompt=HOSTILE))
    transcript = from_plain(Transcript, json.loads(json.dumps(to_plain(meter.transcript()))))
    first, second = transcript.questions
    assert first["value"] == {"start": "cube", "start_xyxy": None, "end": "box", "end_xyxy": None}
    assert (first["question"], first["backend"], first["outcome"]) == ("q/1", "rbench/model", "answered")
    assert (first["raw"], first["repairs"], first["usage"]["tokens_in"]) == (HOSTILE, ["fence"], 100)
    assert (second["outcome"], second["raw"], second["error"], second["value"]) == ("refused", "No.", "no", None)
    (name,) = first["images"]
    assert (np.asarray(Image.open(io.BytesIO(base64.b64decode(transcript.images[name])))) == 7).all()


def test_a_transcript_on_disk_is_plain_text_and_reads_back(metered: Any, tmp_path: Path) -> None:
    meter, model, _ = metered(Reply(ANSWER, raw=HOSTILE))
    ask(model)
    for place, content in meter.transcript().files():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(content)
    (text,) = [path.read_bytes() for path in tmp_path.rglob("*.json")]
    assert text.isascii()
    assert b"\x1b" not in text
    (read,) = read_transcripts(tmp_path)
    assert read["episode"] == "a/b/c#0"
    assert read["questions"][0]["raw"] == HOSTILE


def test_an_episode_keeps_no_more_pictures_than_fit(metered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rbench.vision.metering.IMAGES_LIMIT", 10)
    meter, model, _ = metered()
    for shade in range(3):
        ask(model, question(shade=shade))
    transcript = meter.transcript()
    assert len(transcript.images) == 1
    assert len({name for entry in transcript.questions for name in entry["images"]}) == 3


def test_a_model_that_keeps_no_transcript_is_counted_all_the_same(metered: Any) -> None:
    meter, model, _ = metered(transcribed=False)
    ask(model)
    assert meter.usage()["calls"] == 1
    assert meter.transcript() is None


def test_equal_questions_have_equal_keys_and_no_others() -> None:
    base = question_key(question(), ("a",))
    assert question_key(question(), ("a",)) == base
    others = [
        question_key(question("q/2"), ("a",)),
        question_key(question(prompt="Where then?"), ("a",)),
        question_key(question(answer=Words), ("a",)),
        question_key(question(), ("b",)),
        question_key(question(), ("a", "a")),
    ]
    assert len({base, *others}) == 6


def test_a_worker_asks_nothing_once_its_own_spending_reaches_the_budget(metered: Any) -> None:
    meter, model, inner = metered(limits=[SpendingLimits(budget_usd=1.0)])
    ask(model)
    meter.begin("a/b/c#1")
    ask(model)
    with pytest.raises(StoppedEarly, match=r"budget_usd = 1, used 1.*rbench resume"):
        ask(model)
    assert len(inner.calls) == 2


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"budget_calls": 2}, "budget_calls = 2"),
        ({"budget_tokens": 200}, "budget_tokens = 200"),
        ({"budget_usd": 0.02}, "budget_usd = 0.02"),
        ({"budget_calls": 3, "budget_tokens": 1000}, None),
        ({}, None),
    ],
)
def test_a_run_has_spent_what_its_records_say(limits: Any, said: str | None) -> None:
    spending = Spending()
    spending.add_record({"calls": 9, "report": {}})  # an agent that asks nobody
    spending.add_record({"vision": {"calls": 2, "tokens_in": 150, "tokens_out": 50, "cost": 0.02}})
    spending.add_record({"vision": {"calls": 0, "tokens_in": None, "tokens_out": None, "cost": None}})
    reached = spending.reached([SpendingLimits(), SpendingLimits(**limits)])
    assert (reached is None) if said is None else said in str(reached)


def test_what_happens_while_a_model_is_asked_is_told_apart_from_the_agents_doing() -> None:
    phases = PhaseMarker()
    phases.enter(Phase.AGENT_ACT)
    seen: list[Phase] = []

    class Looking(VisionModel):
        def ask(self, question: Question, rng: np.random.Generator) -> Reply:
            seen.append(phases.now)
            raise InfrastructureError("away; see whether it is up")

    model = VisionMeter((), partial(phases.during, Phase.ASKING)).around(Looking(), "rbench/looking")
    with pytest.raises(InfrastructureError):
        ask(model)
    assert seen == [Phase.ASKING]
    assert not Phase.ASKING.in_agent
    assert phases.now == Phase.AGENT_ACT
