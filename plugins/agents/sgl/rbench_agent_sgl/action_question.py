"""The second question, behind the option `action`: the instruction with slots in place of its objects."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field, field_validator

from rbench.errors import NoAnswer
from rbench.interfaces.vision import Question
from rbench.vision.asking import Interview
from rbench_agent_sgl.instruction import Action, Mention

ACTION = "sgl.action/1"
_OBJECT, _RECEIVER = "<object>", "<receiver>"

_PROMPT = """A robot was told: "{instruction}"
Write the same command once more with <object> in place of the words for the object that it has to move or handle, and
<receiver> in place of the words for what that object has to end up in or on, if the command names one. Leave out the
article before them, and refer to the object once only. Reply with JSON only, no other text: {"action": "..."}"""


class CoreAction(BaseModel):
    """A command with slots: `<object>` once, `<receiver>` once or not at all."""

    action: str = Field(max_length=1000)

    @field_validator("action")
    @classmethod
    def _slots(cls, value: str) -> str:
        if value.count(_OBJECT) != 1 or value.count(_RECEIVER) > 1:
            raise ValueError(f"it must hold {_OBJECT} once, and {_RECEIVER} once or not at all")
        return value


def asked_action(interview: Interview, instruction: str, image: npt.NDArray[np.uint8]) -> Action | None:
    """The core action in the model's words, or None when it gave none. Asked once."""
    question = Question(ACTION, _PROMPT.replace("{instruction}", instruction), (image,), CoreAction)
    try:
        answer = interview.ask(question)
    except NoAnswer:
        return None
    assert isinstance(answer, CoreAction)
    text = answer.action
    return Action(text, _slot(text, _OBJECT), _slot(text, _RECEIVER) if _RECEIVER in text else None)


def _slot(text: str, mark: str) -> Mention:
    start = text.index(mark)
    return Mention(start, start + len(mark), (mark,), None)
