"""The question that the agent asks, and asking again when an answer cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.errors import NoAnswer
from rbench.interfaces.vision import Question
from rbench.vision.asking import Interview
from rbench.vision.questions import PickAndPlace

#: Name and version of the question; a changed prompt is a new version, or recorded answers would be stale.
LOCATE = "simple.locate/1"
#: Kinds of failed replies that asking the same again would not mend.
FINAL = ("truncated", "refused")
#: What the others are called as reasons to stop.
_REASONS = {"bad_boxes": "bad_boxes"}

_PROMPT = """You see a robot's table. The robot is told: "{instruction}"
Find the object it has to move (start) and the place it has to move it to (end) in the image. {coordinates}
Reply with JSON only, no other text, with the upper left and the lower right corner of each:
{"start": "the object's name", "start_xyxy": [x1, y1, x2, y2], "end": "the place's name", "end_xyxy": [x1, y1, x2, y2]}
If one of them is not in the image, its corners are null."""


class Ungrounded(Exception):
    """The question was not answered; `reason` is the agent's reason to stop."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def locate_question(instruction: str, image: npt.NDArray[np.uint8]) -> Question:
    """Where is the object of the instruction, and where does it go?"""
    return Question(LOCATE, _PROMPT.replace("{instruction}", instruction), (image,), PickAndPlace)


def asked_until_usable(interview: Interview, question: Question, attempts: int, unusable: str) -> Any:
    """The first usable answer out of so many attempts.

    Args:
        unusable: what a reply without an answer is called as a reason to stop.

    Raises:
        Ungrounded: `truncated`, `refused`, `bad_boxes` or `unusable` by the last reply.
    """
    reason = unusable
    for _ in range(attempts):
        try:
            return interview.ask(question)
        except NoAnswer as problem:
            if problem.kind in FINAL:
                raise Ungrounded(problem.kind) from problem
            reason = _REASONS.get(problem.kind, unusable)
    raise Ungrounded(reason)
