"""A vision model that says what a function tells it to: for tests of agents, wrappers and the parser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pydantic import BaseModel

from rbench.interfaces.vision import Question, Reply, VisionModel
from rbench.vision.coordinates import CoordinateSpace, Frame
from rbench.vision.parsing import ModelText, parse_answer

Script = Callable[[Question, np.random.Generator], "str | ModelText | BaseModel"]


class ScriptedVision(VisionModel):
    """Answers with what `script` returns.

    Text goes through the parser like that of any model; an answer model's instance is given as it is. What the script
    raises is raised.
    """

    def __init__(self, script: Script, space: CoordinateSpace = "abs") -> None:
        self.script = script
        self.space: CoordinateSpace = space

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        said = self.script(question, rng)
        if isinstance(said, BaseModel):
            return Reply(said)
        text = ModelText(said) if isinstance(said, str) else said
        height, width = question.images[0].shape[:2]
        return parse_answer(text, question.answer, Frame(self.space, (height, width)))
