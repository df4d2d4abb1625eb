"""The vision model `replay`: recorded answers, and never a stale one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbench.errors import NoAnswer, RbenchError, StartError, UsageError
from rbench.interfaces.vision import Question, Reply, Usage, VisionModel
from rbench.vision.metering import VisionMeter
from rbench.vision.questions import Box, Located, PickAndPlace
from rbench.vision.replay import Options, Replay


def question(name: str = "q/1", prompt: str = "Where?", shade: int = 0, answer: Any = PickAndPlace) -> Question:
    return Question(name, prompt, (np.full((8, 8, 3), shade, np.uint8),), answer)


def answer(label: str) -> PickAndPlace:
    return PickAndPlace(start=label, start_xyxy=Box((0.1, 1 / 3, 2.0, 3.0)), end="box", end_xyxy=None)


class Labelled(VisionModel):
    """Gives each question an answer of its own."""

    def __init__(self) -> None:
        self.number = 0

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        self.number += 1
        usage = Usage("m", 100, 10, 0.5, ("no_seed",))
        if question.prompt == "Refuse!":
            raise NoAnswer("no; stop", kind="refused", raw="No.", repairs=("fence",), usage=usage)
        return Reply(answer(f"answer {self.number}"), ("prose",), usage, raw="said")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two episodes; both ask about the same picture twice, and the second once more."""
    record(tmp_path / "run", "rbench/labelled")
    return tmp_path / "run"


def record(place: Path, backend: str) -> None:
    meter = VisionMeter()
    model = meter.around(Labelled(), backend)
    for episode, questions in (
        ("a/b/c#0", [question(), question(), question(prompt="Refuse!")]),
        ("a/b/c#1", [question(), question(), question(shade=1)]),
    ):
        meter.begin(episode)
        for asked in questions:
            with contextlib.suppress(NoAnswer):
                model.ask(asked, np.random.default_rng(0))
        for path, content in meter.transcript().files():  # type: ignore[union-attr]
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(content)


@pytest.fixture
def replayed(recording: Path) -> Callable[..., Any]:
    """Asks a replay in an episode, one question after the other."""

    def ask(episode: str, *questions: Question, **options: Any) -> list[Reply]:
        meter = VisionMeter()
        model = meter.around(Replay(Options(recording=recording, **options)), "rbench/replay")
        meter.begin(episode)
        return [model.ask(asked, np.random.default_rng(0)) for asked in questions]

    return ask


@pytest.mark.parametrize("match", ["image", "call"])
def test_each_question_gets_what_it_got_in_its_episode(replayed: Any, match: str) -> None:
    first = replayed("a/b/c#0", question(), question(), match=match)
    second = replayed("a/b/c#1", question(), question(), question(shade=1), match=match)
    assert [r.value.start for r in first] == ["answer 1", "answer 2"]
    assert [r.value.start for r in second] == ["answer 4", "answer 5", "answer 6"]


def test_a_reply_comes_back_whole(replayed: Any) -> None:
    (reply,) = replayed("a/b/c#0", question())
    assert reply == Reply(answer("answer 1"), ("prose",), Usage("m", 100, 10, 0.5, ("no_seed",)), raw="said")


def test_a_reply_that_was_no_answer_comes_back_as_that(replayed: Any) -> None:
    with pytest.raises(NoAnswer, match="no; stop") as caught:
        replayed("a/b/c#0", question(prompt="Refuse!"))
    assert (caught.value.kind, caught.value.raw, caught.value.repairs) == ("refused", "No.", ("fence",))
    assert caught.value.usage.cost == 0.5


def test_the_same_pixels_are_answered_in_an_episode_that_was_not_recorded(replayed: Any) -> None:
    replies = replayed("x/y/z#7", question(), question(), question())
    assert [r.value.start for r in replies] == ["answer 1", "answer 2", "answer 2"]


@pytest.mark.parametrize(
    "changed",
    [
        question("q/2"),
        question(prompt="Where is it?"),
        question(answer=Located),
        Question("q/1", "Where?", question().images * 2, PickAndPlace),
    ],
    ids=["version", "prompt", "form of answer", "number of pictures"],
)
@pytest.mark.parametrize("match", ["image", "call"])
def test_a_changed_question_is_never_answered_with_a_stale_answer(replayed: Any, match: str, changed: Question) -> None:
    with pytest.raises(StartError, match="has no answer to"):
        replayed("a/b/c#0", changed, match=match)


def test_other_pixels_are_a_miss_by_image_and_none_by_call(replayed: Any) -> None:
    with pytest.raises(StartError, match="not with this prompt, these pixels"):
        replayed("a/b/c#0", question(shade=99))
    (reply,) = replayed("a/b/c#0", question(shade=99), match="call")
    assert reply.value.start == "answer 1"


def test_a_question_too_many_is_a_miss_by_call(replayed: Any) -> None:
    with pytest.raises(StartError, match=r"nothing was answered as question 1 of episode 'x/y/z#7'"):
        replayed("x/y/z#7", question(), match="call")


def test_one_file_of_a_recording_is_a_recording(recording: Path) -> None:
    (file,) = recording.rglob("c#1.json")
    reply = Replay(Options(recording=file)).ask(question(shade=1), np.random.default_rng(0))
    assert reply.value.start == "answer 6"


def test_answers_of_several_models_are_not_mixed_up(recording: Path) -> None:
    text = next(recording.rglob("c#1.json")).read_text()
    (recording / "artifacts/transcripts/other.json").write_text(text.replace("rbench/labelled", "rbench/other"))
    with pytest.raises(UsageError, match="rbench/labelled, rbench/other"):
        Replay(Options(recording=recording))
    model = Replay(Options(recording=recording, backend="rbench/other"))
    assert model.ask(question(), np.random.default_rng(0)).value.start == "answer 4"


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "[]",
        "{",
        '{"episode": "a", "questions": [1], "schema": 1}',
        '{"episode": "a", "questions": [], "schema": 2}',
        '{"episode": "a", "questions": [], "schema": 1}',
        '{"episode": 1, "questions": [], "schema": 1}',
        "[" * 100_000,
        "\x00\xff",
    ],
)
def test_what_is_no_recording_is_refused_by_name(tmp_path: Path, content: str | None) -> None:
    place = tmp_path / "recording"
    place.mkdir()
    if content is not None:
        (place / "a.json").write_text(content)
    with pytest.raises(UsageError, match="recording"):
        Replay(Options(recording=place))


def test_a_recording_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="absent"):
        Replay(Options(recording=tmp_path / "absent"))


@pytest.mark.parametrize(
    "entry",
    [
        {"value": {"start": 1}},
        {"value": None},
        {"usage": {"tokens": 1}},
        {"usage": "many"},
        {"usage": {"tokens_in": -(10**30)}},
        {"value": {"start": "cube", "start_xyxy": [1e308, -1e308, 2e308, 3], "end": "box", "end_xyxy": None}},
        {"outcome": "answered", "value": []},
    ],
)
def test_a_recorded_answer_that_is_damaged_is_a_miss(recording: Path, entry: dict[str, Any]) -> None:
    for file in recording.rglob("*.json"):
        data = json.loads(file.read_text())
        data["questions"] = [{**recorded, **entry} for recorded in data["questions"]]
        file.write_text(json.dumps(data))
    with pytest.raises(RbenchError, match="what it holds is no PickAndPlace"):
        Replay(Options(recording=recording)).ask(question(), np.random.default_rng(0))
