"""The optional first stage: a language model that writes the function calls, after the embodied-LLM prototype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from rbench.interfaces.vision import Question
from rbench_agent_simple.calls import FunctionCall, RefusedCall, parse_call

#: Name and version of the question.
PLAN = "simple.plan/1"
#: Most calls of a plan.
MOST = 20
#: As much of a refused call as a report shows.
_SHOWN = 200

_PROMPT = """You control a robot arm at a table by calling functions. These exist, and no others:
vlm_move("move A onto B"): finds A and B in the camera picture, grasps A and puts it onto or into B
move_to_top_view(): moves the arm out of the camera's way
back_zero(): moves the arm to its rest pose
pump_on(): closes the gripper
pump_off(): opens the gripper
wait(2): waits so many seconds, at most 5
Say in vlm_move what is meant in the words of the instruction. Call nothing that the instruction does not need.
Reply with JSON only, starting with the brace, no code fence: "function" is the list of calls in order, as strings;
"response" is what you say to the user, at most 20 words.
Examples:
Go home. -> {"function": ["back_zero()"], "response": "I am going back to my rest pose."}
Put the apple on the plate. -> {"function": ["vlm_move(\\"put the apple on the plate\\")"], "response": "On its way."}
Let go, wait a second and rest. -> {"function": ["pump_off()", "wait(1)", "back_zero()"], "response": "Letting go."}
The instruction now: {instruction}"""


class WrittenPlan(BaseModel):
    """What the planner answers: calls as text, and words for the user."""

    function: tuple[str, ...] = Field(max_length=MOST)
    response: str = ""


@dataclass(frozen=True)
class Plan:
    """What is done of a written plan.

    Attributes:
        calls: the allowed calls, in order. refused: the others, as written, and why each was refused.
    """

    calls: tuple[FunctionCall, ...]
    refused: tuple[tuple[str, str], ...] = ()
    response: str = ""

    def plain(self) -> Mapping[str, Any]:
        """The plan as plain data, for the report."""
        return {
            "calls": [[call.name] if call.argument is None else [call.name, call.argument] for call in self.calls],
            "refused": [{"call": text[:_SHOWN], "why": why} for text, why in self.refused],
            "refused_calls": len(self.refused),
            "response": self.response[:_SHOWN],
        }


def straight(instruction: str) -> Plan:
    """The plan without a planner: the instruction goes to the one question as it is."""
    return Plan((FunctionCall("vlm_move", instruction),))


def plan_question(instruction: str, image: npt.NDArray[np.uint8]) -> Question:
    """Which functions does the instruction need? The picture goes with it, as with every question."""
    return Question(PLAN, _PROMPT.replace("{instruction}", instruction), (image,), WrittenPlan)


def allowed_plan(written: WrittenPlan) -> Plan:
    """The allowed calls of a written plan, and the refused ones."""
    calls: list[FunctionCall] = []
    refused: list[tuple[str, str]] = []
    for text in written.function:
        try:
            calls.append(parse_call(text))
        except RefusedCall as problem:
            refused.append((text, str(problem)))
    return Plan(tuple(calls), tuple(refused), written.response)
