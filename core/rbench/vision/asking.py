"""Asking questions, and the record of what was asked.

An agent makes an `Interview` in every `reset`: it belongs to the episode, so nothing of it can reach the next.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbench.errors import NoAnswer
from rbench.interfaces.vision import Question, Usage, VisionModel

#: Longest raw reply that a record keeps, for a reply that was no answer.
RAW_LIMIT = 4000


@dataclass(frozen=True)
class Asked:
    """One question asked.

    Attributes:
        outcome: `answered`, or the kind of `NoAnswer`.
        raw: the model's text, kept only when it was no answer.
        seconds: wall time; not part of `plain`, because records of equal runs are equal but for their timing.
    """

    question: str
    outcome: str
    repairs: tuple[str, ...]
    usage: Usage
    raw: str | None
    seconds: float

    def plain(self) -> dict[str, Any]:
        """The record as plain data, without what was not known."""
        data: dict[str, Any] = {"question": self.question, "outcome": self.outcome, "repairs": list(self.repairs)}
        known = {
            "model": self.usage.model or None,
            "tokens_in": self.usage.tokens_in,
            "tokens_out": self.usage.tokens_out,
            "cost": self.usage.cost,
            "raw": self.raw,
        }
        return data | {key: value for key, value in known.items() if value is not None}


class Interview:
    """The questions that one episode asks a vision model."""

    def __init__(self, model: VisionModel, rng: np.random.Generator) -> None:
        """Begin.

        Args:
            rng: the episode's generator, handed to the model with every question.
        """
        self.model = model
        self._rng = rng
        self._asked: list[Asked] = []

    @property
    def asked(self) -> Sequence[Asked]:
        """The questions so far, in order."""
        return tuple(self._asked)

    @property
    def seconds(self) -> float:
        """Wall time spent waiting for answers."""
        return sum(a.seconds for a in self._asked)

    def ask(self, question: Question) -> Any:
        """The answer, an instance of `question.answer`.

        Raises:
            NoAnswer: the model replied, but not with an answer.
            InfrastructureError: the model could not be reached.
        """
        begin = time.perf_counter()
        try:
            reply = self.model.ask(question, self._rng)
        except NoAnswer as problem:
            raw = problem.raw[:RAW_LIMIT] if problem.raw is not None else None
            seconds = time.perf_counter() - begin
            usage = problem.usage or Usage()
            self._asked.append(Asked(question.name, problem.kind, problem.repairs, usage, raw, seconds))
            raise
        seconds = time.perf_counter() - begin
        self._asked.append(Asked(question.name, "answered", reply.repairs, reply.usage, None, seconds))
        return reply.value

    def plain(self) -> list[dict[str, Any]]:
        """The questions as plain data, for an agent's report."""
        return [a.plain() for a in self._asked]
