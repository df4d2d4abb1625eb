"""From a model's text to an answer: one parser for all text, whoever asked and whatever answered.

A reply is read if a person could read it, and refused with its real cause if not. What was mended is counted by
name; a reply that was cut off is never run as if it were whole, and never mended into something shorter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, RootModel, ValidationError

from rbench.errors import NoAnswer
from rbench.interfaces.vision import Reply, Usage
from rbench.vision.coordinates import Frame
from rbench.vision.loose_json import CutOff, NotJson, find_value
from rbench.vision.questions import BAD_BOX

#: What servers call the end of a reply that hit the token limit, and of one that a filter stopped.
CUT_OFF = ("length", "max_tokens", "model_length", "max_output_tokens")
FILTERED = ("content_filter", "safety", "refusal", "data_inspection_failed")

_REFUSAL = re.compile(
    r"\b(i['’]?m sorry|i am sorry|i apologi[sz]e|i can(?:no|['’])t (?:help|assist|comply|do|identify|provide|process)"
    r"|i(?:['’]m| am) (?:not able|unable)|unable to (?:help|assist|comply|process)|as an ai)\b",
    re.IGNORECASE,
)
#: As much of a reply as an error message shows; `NoAnswer.raw` keeps all of it.
_SHOWN = 120


@dataclass(frozen=True)
class ModelText:
    """What a model said: its text, why it ended (as the server puts it), and its refusal where that is told apart."""

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None


def parse_answer(said: ModelText, answer: type[BaseModel], frame: Frame, usage: Usage | None = None) -> Reply:
    """The answer in a model's text, with boxes in pixels of the image that was asked about.

    Raises:
        NoAnswer: there is none; its `kind` says why.
    """
    try:
        return _answer(said, answer, frame, usage or Usage())
    except NoAnswer as problem:
        problem.usage = usage
        raise


def _answer(said: ModelText, answer: type[BaseModel], frame: Frame, usage: Usage) -> Reply:
    text = said.text or ""
    if (said.finish_reason or "") in CUT_OFF:
        raise _no_answer("truncated", "was cut off at the token limit; allow more tokens or ask for less", text)
    if said.refusal or (said.finish_reason or "") in FILTERED:
        raise _no_answer("refused", "was refused by the model; change the prompt or the model", said.refusal or text)
    if not text.strip("\ufeff\u200b\u00a0 \t\r\n"):
        raise _no_answer("empty", "is empty; ask again", text)
    wants_list = issubclass(answer, RootModel)
    try:
        value, repairs = find_value(text, "[" if wants_list else "{")
    except CutOff as problem:
        raise _no_answer("truncated", f"is cut off ({problem}); allow more tokens or ask for less", text) from None
    except NotJson as problem:
        if _REFUSAL.search(text):
            raise _no_answer("refused", "was refused by the model; change the prompt or the model", text) from None
        raise _no_answer("unparsable", f"cannot be read ({problem}); ask again", text) from None
    if not wants_list and isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value, repairs = value[0], [*repairs, "unwrapped_list"]
    fault = error_inside(value)
    if fault and "error" not in answer.model_fields:
        raise _no_answer("server_error", f"is an error of the server ({fault}); try again later", text, repairs)
    try:
        return Reply(answer.model_validate(value, context={"frame": frame}), tuple(repairs), usage, text)
    except ValidationError as problem:
        raise _invalid(problem, text, repairs) from None


def error_inside(body: Any) -> str | None:
    """The message of an error that came in place of a reply, as some servers send with status 200; else None."""
    if not isinstance(body, Mapping) or not body.get("error"):
        return None
    error = body["error"]
    if isinstance(error, Mapping):
        return str(error.get("message") or error.get("code") or error.get("type") or "no message")
    return str(error)


def _invalid(problem: ValidationError, text: str, repairs: list[str]) -> NoAnswer:
    errors = problem.errors(include_url=False, include_context=False, include_input=False)
    bad_box = next((e for e in errors if e["type"] == BAD_BOX), None)
    first = bad_box or errors[0]
    where = ".".join(str(part) for part in first["loc"] if part != "root")
    kind: Literal["bad_boxes", "invalid"] = "bad_boxes" if bad_box else "invalid"
    return _no_answer(kind, f"does not answer the question ({where}: {first['msg']}); ask again", text, repairs)


def _no_answer(kind: str, what: str, text: str, repairs: list[str] | None = None) -> NoAnswer:
    shown = " ".join(text.split())
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
    return NoAnswer(f"the model's reply {what}. It said: {shown!r}", kind=kind, raw=text, repairs=tuple(repairs or ()))
