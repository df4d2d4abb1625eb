"""What a review asks: the pictures of the queue, what else is known of them, and where opinions differ."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rbench.validation.directory import ValidationDirectory
from rbench.validation.findings import Answer, Finding, QueueItem
from rbench.validation.people import PeopleVerdict

#: Share of the pictures that two people read.
SECOND_READINGS = 0.2


@dataclass(frozen=True)
class Statement:
    """What somebody, or something, holds of a picture; `said` is for people to read."""

    who: str
    said: str


class Questions:
    """The pictures of a validation as they were when it was opened.

    Attributes:
        items: the queue. gone: numbers of those whose picture is not there.
        twice: numbers of those that two people are to read.
        conditions: what must hold for a yes; those that a vision model is asked too (RoboView-Bias, appendix A.2).
    """

    def __init__(self, directory: ValidationDirectory, share: float) -> None:
        validation = directory.validation()
        self.suite, self.suite_hash = validation.suite, validation.suite_hash
        self.iteration = validation.iteration
        self.conditions = _conditions(validation.thresholds)
        self.items: Sequence[QueueItem] = list(directory.queue())
        self.paths = [directory.image(item) for item in self.items]
        self.gone = frozenset(number for number, path in enumerate(self.paths) if not path.is_file())
        ranked = self.order("second reading")
        self.twice = frozenset(ranked[: math.ceil(share * len(ranked) - 1e-9)])
        wanted = {item.image_hash for item in self.items}
        self._measured = {
            (finding.instance, finding.camera, finding.image_hash): finding
            for finding in directory.findings()
            if finding.image_hash in wanted
        }
        self._model = _model_answers(directory)

    def order(self, who: str) -> list[int]:
        """The numbers of all pictures in the order in which somebody reads them: random, and always the same.

        It depends on nothing but the suite, the name and the pictures, so a restart changes nothing.
        """
        return sorted((n for n in range(len(self.items)) if n not in self.gone), key=lambda n: self._rank(who, n))

    def needed(self, number: int) -> int:
        """How many people are to read a picture."""
        return 2 if number in self.twice else 1

    def finding(self, number: int) -> Finding | None:
        """What the measured gate found of a picture."""
        item = self.items[number]
        return self._measured.get((item.instance, item.camera, item.image_hash))

    def model_answer(self, number: int) -> Answer | None:
        """What a vision model answered about a picture."""
        return self._model.get(self.items[number].image_hash)

    def differences(self, number: int, verdict: PeopleVerdict) -> list[str]:
        """Why an adjudicator should look: `readers`, `unsure`, `measured`, `model`; empty when nobody need.

        A picture that still waits for its second reading is not shown to anybody: answers in view would spoil it.
        """
        if len(verdict.readings) < self.needed(number) or verdict.ruling is not None:
            return []
        if verdict.answer is None:
            return ["readers" if len(set(verdict.readings.values())) > 1 else "unsure"]
        finding, model = self.finding(number), self.model_answer(number)
        found = []
        if finding is not None and finding.passed != (verdict.answer == "yes"):
            found.append("measured")
        if model is not None and model != verdict.answer:
            found.append("model")
        return found

    def statements(self, number: int, verdict: PeopleVerdict) -> list[Statement]:
        """What everybody and everything holds of a picture."""
        found = [Statement(reviewer, answer) for reviewer, answer in verdict.readings.items()]
        if (finding := self.finding(number)) is not None:
            notes = f"; {', '.join(finding.notes)}" if finding.notes else ""
            said = "passes" if finding.passed else f"fails: {', '.join(finding.reasons)}"
            found.append(Statement("measured gate", said + notes))
        if (model := self.model_answer(number)) is not None:
            found.append(Statement("vision model", model))
        return found

    def _rank(self, who: str, number: int) -> bytes:
        item = self.items[number]
        key = "\0".join((self.suite_hash, who, item.instance, item.camera, item.image_hash))
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _conditions(rules: Mapping[str, Any]) -> list[str]:
    thing, box = (
        rules[key] if isinstance(rules.get(key), str) else default
        for key, default in (("object_words", "small solid object"), ("box_words", "box"))
    )
    return [
        f"The {thing} is in the picture.",
        f"The {box} is in the picture.",
        "Anybody could point at both without guessing.",
    ]


def _model_answers(directory: ValidationDirectory) -> dict[str, Answer]:
    """By picture; a reply that held no answer says nothing."""
    found: dict[str, Answer] = {}
    for line in directory.answers():
        answer, image = line.get("answer"), line.get("image_hash")
        if isinstance(image, str) and answer in ("yes", "no"):
            found[image] = answer
    return found
