from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel

from rbench.contributions import VisionModelContribution
from rbench.errors import InfrastructureError, NoAnswer, StoppedEarly
from rbench.interfaces.vision import Question, Reply, Usage, VisionModel
from rbench.plugins.catalog import Catalog
from rbench.plugins.discovery import FoundPlugin
from rbench.plugins.loading import LoadedPlugin
from rbench.running.agents import Resolved, resolve
from rbench.running.description import Part
from rbench.suites.fairness import FairnessRules
from rbench.validation.directory import ValidationDirectory
from rbench.validation.findings import Finding
from rbench.validation.people import people_verdicts
from rbench.validation.screening import Screening
from rbench.validation.stages import measured_stage, model_stage, people_stage, queue_of
from rbench.vision.fairness import FairPicture, fairness_question
from rbench.vision.question_keys import image_hash
from rbench.vision.spending import SpendingLimits

KEY = "sk-canary-7Q"


class Options(SpendingLimits):
    strict: bool = False


class Eye(VisionModel):
    """Says yes to bright pictures; broken for very dark ones, unreachable for black ones. Counts questions."""

    asked = 0

    def __init__(self, options: Options) -> None:
        self.options = options

    @property
    def secrets(self) -> frozenset[str]:
        return frozenset({KEY})

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        type(self).asked += 1
        level = float(question.images[0].mean())
        usage = Usage("eye-1", 100, 10, 0.001)
        if level == 0:
            raise InfrastructureError(f"the server with {KEY} does not answer")
        if level < 20:
            raise NoAnswer("no JSON", kind="unparsable", raw=f"I cannot {KEY}", usage=usage)
        answer = "yes" if level > 100 and not self.options.strict else "no"
        return Reply(FairPicture(analysis=f"bright {KEY}", final_answer=answer), usage=usage)


@pytest.fixture
def eye() -> Callable[..., Resolved]:
    Eye.asked = 0
    contribution = VisionModelContribution(
        name="eye", summary="For tests.", target=f"{__name__}:Eye", options=f"{__name__}:Options"
    )
    catalog = Catalog([LoadedPlugin(FoundPlugin("eyes", "1.0", "plugin", __name__), "ok", (contribution,))])
    return lambda **options: resolve(catalog, "vision-model", Part("eye", options))


@pytest.fixture
def pictures(tmp_path: Path) -> tuple[ValidationDirectory, Callable[..., list[Finding]]]:
    directory = ValidationDirectory.create(tmp_path / "v")

    def findings(*levels: int, failing: tuple[int, ...] = ()) -> list[Finding]:
        found = []
        for level in levels:
            image = np.full((8, 8, 3), level, dtype=np.uint8)
            name = image_hash(image)
            Image.fromarray(image).save(directory.path / "images" / f"{name[:24]}.png")
            reasons = ("object small",) if level in failing else ()
            found.append(
                Finding(
                    f"color/l{level}/base",
                    "front",
                    "color",
                    "base",
                    "Put it.",
                    {},
                    f"images/{name[:24]}.png",
                    name,
                    not reasons,
                    reasons,
                )
            )
        return found

    return directory, findings


def test_the_question_has_the_conditions_and_the_form_of_the_paper() -> None:
    question = fairness_question(np.zeros((4, 4, 3), dtype=np.uint8), "small solid geometry object", "yellow box")
    assert all(text in question.prompt for text in ("1. ", "2. ", "3. ", '"analysis"', '"final_answer"', '"yes"'))
    assert "small solid geometry object" in question.prompt and "yellow box" in question.prompt


@pytest.mark.parametrize(("said", "meant"), [("Yes", "yes"), (" no. ", "no"), (True, "yes"), (False, "no")])
def test_answers_are_read_as_they_are_meant(said: object, meant: str) -> None:
    assert FairPicture.model_validate({"analysis": "", "final_answer": said}).final_answer == meant


def test_answers_are_kept_and_asked_for_once(eye: Callable[..., Resolved], pictures) -> None:
    directory, findings = pictures
    seen = findings(50, 150, 200)
    answers = Screening(directory, eye(), FairnessRules()).ask(seen, at_once=2)
    assert [answers[f.image_hash].answer for f in seen] == ["no", "yes", "yes"]
    assert Eye.asked == 3
    again = Screening(directory, eye(budget_usd=5), FairnessRules()).ask(seen)
    assert [again[f.image_hash].answer for f in seen] == ["no", "yes", "yes"]
    assert Eye.asked == 3


def test_another_model_or_question_is_asked_anew(eye: Callable[..., Resolved], pictures) -> None:
    directory, findings = pictures
    seen = findings(150)
    Screening(directory, eye(), FairnessRules()).ask(seen)
    answers = Screening(directory, eye(strict=True), FairnessRules()).ask(seen)
    assert answers[seen[0].image_hash].answer == "no"
    Screening(directory, eye(), FairnessRules(box_words="blue bin")).ask(seen)
    assert Eye.asked == 3


def test_a_reply_that_is_no_answer_is_kept_and_asked_for_again(eye: Callable[..., Resolved], pictures) -> None:
    directory, findings = pictures
    seen = findings(10)
    for _ in range(2):
        answers = Screening(directory, eye(), FairnessRules()).ask(seen)
    answer = answers[seen[0].image_hash]
    assert (answer.answer, answer.outcome, Eye.asked) == (None, "unparsable", 2)


def test_an_unreachable_model_stops_and_what_was_answered_is_kept(eye: Callable[..., Resolved], pictures) -> None:
    directory, findings = pictures
    with pytest.raises(StoppedEarly, match="give the same command again"):
        Screening(directory, eye(), FairnessRules()).ask(findings(200, 0))
    assert [line["answer"] for line in directory.answers()] == ["yes"]


def test_a_budget_stops_the_questions(eye: Callable[..., Resolved], pictures) -> None:
    directory, findings = pictures
    with pytest.raises(StoppedEarly, match="budget_calls"):
        Screening(directory, eye(budget_calls=2), FairnessRules()).ask(findings(150, 160, 170))
    assert len(list(directory.answers())) == 2


def test_no_key_reaches_a_file_or_a_message(eye: Callable[..., Resolved], pictures) -> None:
    directory, findings = pictures
    Screening(directory, eye(), FairnessRules()).ask(findings(10, 150))
    with pytest.raises(StoppedEarly) as stopped:
        Screening(directory, eye(), FairnessRules()).ask(findings(0))
    text = (directory.path / "answers.jsonl").read_text() + str(stopped.value)
    assert KEY not in text and "redacted" in text


def test_agreement_with_the_gate_and_cost_are_counted(eye: Callable[..., Resolved], pictures) -> None:
    directory, findings = pictures
    seen = findings(10, 50, 150, 200, failing=(50, 200))
    answers = Screening(directory, eye(), FairnessRules()).ask(seen)
    stage = model_stage(seen, answers, "eyes/eye", 0.95)
    assert stage["pictures"] == {"asked": 4, "yes": 2, "no": 1, "no_answer": 1}
    agreement = stage["agreement"]
    by_reason = agreement.pop("by_reason")
    assert agreement == {"both_pass": 1, "only_gate_passes": 0, "only_model_passes": 1, "both_fail": 1}
    assert by_reason == {"object small": {"yes": 1, "no": 1}}
    assert (stage["instances"], stage["passed"], stage["accepted"]) == (3, 2, False)
    assert stage["cost"] == pytest.approx(0.004)
    assert stage["tokens_in"] == 400


def test_people_read_what_something_speaks_against_and_a_sample(eye: Callable[..., Resolved], pictures) -> None:
    directory, findings = pictures
    seen = findings(10, 50, 150, 160, 170, 200, failing=(200,))
    answers = Screening(directory, eye(), FairnessRules()).ask(seen)
    queue = queue_of(seen, answers, 2)
    assert [item.why for item in queue] == [
        ("model: no answer",), ("model: no",), ("measured: object small",), ("sample",), ("sample",),
    ]  # fmt: skip
    assert len(queue_of(seen, answers, None)) == 6
    assert queue_of([*seen, *seen], answers, 2) == queue


def test_the_sample_stands_for_the_rest(pictures) -> None:
    from rbench.validation.findings import Decision

    _, findings = pictures
    seen = findings(*range(100, 120), failing=(100,))
    queue = queue_of(seen, {}, 4)
    said = ["no", "yes", "yes", "yes", "yes"]
    decisions = [Decision(i.instance, i.camera, i.image_hash, "ann", a) for i, a in zip(queue, said, strict=True)]
    stage = people_stage(people_verdicts(queue, decisions), len(seen), 0.95)
    assert stage is not None and stage["accepted"]
    assert stage["pass_rate"] == pytest.approx(19 / 20)
    assert people_stage(people_verdicts(queue, []), len(seen), 0.95) is None
    part = people_stage(people_verdicts(queue, decisions[:3]), len(seen), 0.95)
    assert part is not None and not part["accepted"]


def test_an_instance_passes_when_every_camera_does(pictures) -> None:
    from dataclasses import replace

    _, findings = pictures
    one, other = findings(100, 101, failing=(101,))
    stage = measured_stage([one, replace(other, instance=one.instance, camera="left_top")], 0.95)
    assert (stage["instances"], stage["passed"], stage["accepted"]) == (1, 0, False)
    assert stage["failing"] == [{"instance": one.instance, "cameras": {"left_top": ["object small"]}}]


def test_the_embedded_eye_answers_what_it_finds(catalog: Catalog) -> None:
    model = catalog.make("vision-model", "opencv")
    reply = model.ask(
        fairness_question(np.full((64, 64, 3), 90, dtype=np.uint8), "object", "box"), np.random.default_rng(0)
    )
    assert isinstance(reply.value, BaseModel)
    assert json.loads(reply.value.model_dump_json())["final_answer"] == "no"
