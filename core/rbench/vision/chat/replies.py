"""From the body of a chat completion to what the model said, in all the shapes that servers give it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rbench.vision.parsing import ModelText

_NAME_LIMIT = 200


@dataclass(frozen=True)
class Completion:
    """What a model said, its name as the server gives it, and the tokens that the server counted."""

    said: ModelText
    model: str | None
    tokens_in: int | None
    tokens_out: int | None


def completion_of(body: Any) -> Completion | None:
    """What the body of a response says; None when it is no chat completion."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return None
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        return None
    text, refusal = _content(message.get("content"))
    usage = body.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    model = body.get("model")
    return Completion(
        ModelText(
            text or _of_tools(message),
            _text(choices[0].get("finish_reason")),
            _text(message.get("refusal")) or refusal,
        ),
        model[:_NAME_LIMIT] if isinstance(model, str) and model else None,
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
    )


def _content(content: Any) -> tuple[str | None, str | None]:
    """The text of a message, and a refusal among its parts."""
    if isinstance(content, str):
        return content, None
    if isinstance(content, Mapping):  # an object in place of its text
        return json.dumps(content), None
    if not isinstance(content, list):
        return None, None
    texts, refusals = [], []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            texts += [text] if (text := _text(part.get("text"))) else []
            refusals += [text] if (text := _text(part.get("refusal"))) else []
    return "".join(texts) or None, "".join(refusals) or None


def _of_tools(message: Mapping[str, Any]) -> str | None:
    """What a model put into the arguments of a tool that it calls, though it was given none."""
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else message
    function = call.get("function") or call.get("function_call") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    return json.dumps(arguments) if isinstance(arguments, Mapping) else _text(arguments)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None
