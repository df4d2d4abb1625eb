"""JSON as language models write it: finding it in prose, and mending what a reader would read anyway.

Every mend has a name. What is cut off is never completed: a shortened plan must not run as if it were whole.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

#: Longest text and deepest nesting that are looked at; a reply beyond them is no answer to any question here.
MAX_LENGTH = 200_000
MAX_DEPTH = 60

_FENCE = re.compile(r"```[^\S\n]*[\w.+-]*[^\S\n]*\n?(.*?)(```|\Z)", re.DOTALL)
_OPENING = {"{": "}", "[": "]"}
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"), None)
_SPACES = dict.fromkeys(map(ord, "\u00a0\u202f\u2007"), " ")
_TYPOGRAPHIC = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})


class CutOff(ValueError):
    """The text ends inside a value."""


#: Digits of a whole number in an answer.
_DIGITS = 100


class NotJson(ValueError):
    """There is no value in the text that could be read."""


def find_value(text: str, opening: Literal["{", "["] = "{") -> tuple[Any, list[str]]:
    """The last JSON value in a text, and the names of the mends it took.

    The last fenced block that holds a value wins, else the last value in the prose; there, values that start with
    `opening` go before others.

    Raises:
        CutOff: the last value has no end.
        NotJson: there is none, or it cannot be read.
    """
    if len(text) > MAX_LENGTH:
        raise NotJson(f"the reply has {len(text)} characters, more than {MAX_LENGTH}")
    repairs: list[str] = []
    body = text.strip()
    if body.startswith("<think>") or "</think>" in body:
        body, closed, rest = body.partition("</think>")
        if not closed:
            raise CutOff("the reply ends while the model was still thinking")
        body = rest.strip()
        repairs.append("thinking")
    blocks = [(m.group(1), m.group(2)) for m in _FENCE.finditer(body) if m.group(1).strip()[:1] in ("{", "[")]
    if blocks:
        repairs.append("fence")
        repairs += ["several_fences"] * (len(blocks) > 1)
        body, closing = blocks[-1]
        repairs += ["unclosed_fence"] * (not closing)
    spans = _values(body)
    if not spans:
        raise NotJson("the reply holds no JSON object or list")
    start, end = next((span for span in reversed(spans) if body[span[0]] == opening), spans[-1])
    if body[:start].translate(_INVISIBLE).strip() or body[end:].translate(_INVISIBLE).strip():
        repairs.append("prose")
    elif body[:start].strip() != body[:start].translate(_INVISIBLE).strip():
        repairs.append("invisible_characters")
    value, mends = load(body[start:end])
    return value, [*repairs, *mends]


def load(text: str) -> tuple[Any, list[str]]:
    """Read one value, mending as little as possible; the names of the mends.

    Raises:
        NotJson: it cannot be read.
    """
    repairs: list[str] = []
    problem = ""
    for name, mend in _MENDS:
        mended = mend(text)
        if name and mended == text:
            continue
        text = mended
        repairs += [name] * bool(name)
        try:
            return _strict(text), repairs
        except json.JSONDecodeError as error:
            problem = problem or str(error)
        try:
            # Raw line breaks inside strings, which `strict` refuses.
            return _strict(text, strict=False), [*repairs, "newline_in_string"]
        except json.JSONDecodeError:
            pass
    value = _python_literal(text, problem)
    return value, [*repairs, "python_literal"]


def _strict(text: str, strict: bool = True) -> Any:
    return json.loads(text, strict=strict, parse_constant=_no_constant, parse_int=_whole, object_pairs_hook=_unique)


def _whole(digits: str) -> int:
    # Python itself refuses numbers of some thousand digits, and no float is as large as one of some hundred.
    if len(digits) > _DIGITS:
        raise NotJson(f"a number of {len(digits)} digits is none that an answer may hold")
    return int(digits)


def _no_constant(name: str) -> Any:
    raise NotJson(f"{name} is not a number that an answer may hold")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise NotJson(f"the key {twice!r} is given twice")
    return dict(pairs)


def _python_literal(text: str, problem: str) -> Any:
    """A Python literal: single quotes, None, True, tuples. Only literals are read; nothing is ever evaluated."""
    words = {"true": "True", "false": "False", "null": "None"}
    code = _outside_strings(text, lambda part: re.sub(r"\b(true|false|null)\b", lambda m: words[m.group()], part))
    try:
        return _as_json(ast.literal_eval(code.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise NotJson(f"the reply is not JSON: {problem}") from None


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ValueError(f"{type(value).__name__} has no place in an answer")


def _values(text: str) -> list[tuple[int, int]]:
    """Spans of the outermost objects and lists of a text.

    Raises:
        CutOff: the last one has no end.
    """
    spans: list[tuple[int, int]] = []
    position = 0
    while position < len(text):
        if text[position] in _OPENING and _plausible(text, position):
            end = _end_of_value(text, position)
            if end is None:
                raise CutOff("the reply ends inside its JSON")
            spans.append((position, end))
            position = end
        else:
            position += 1
    return spans


def _plausible(text: str, position: int) -> bool:
    """Whether a bracket opens a value rather than being a word in prose such as `[see below]`."""
    following = text[position + 1 :].lstrip(" \t\r\n\u00a0\ufeff")[:1]
    if text[position] == "{":
        return following in ('"', "'", "}", "", "/") or following in "“‘„"
    return following in "{[\"'-]“‘„/" or following.isdigit() or following == ""


def _end_of_value(text: str, start: int) -> int | None:
    """Index behind the bracket that closes the one at `start`, or None when there is none."""
    closing: list[str] = []
    for position, character in _structure(text, start):
        if character in _OPENING:
            closing.append(_OPENING[character])
            if len(closing) > MAX_DEPTH:
                raise NotJson(f"the reply nests deeper than {MAX_DEPTH} levels")
        elif character in "}]":
            if not closing or character != closing.pop():
                raise NotJson("the brackets of the reply do not match")
            if not closing:
                return position + 1
    return None


def _structure(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Characters outside strings from `start` on, with their positions."""
    quote = before = ""
    position = start
    while position < len(text):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote, before = "", character
        # A single quote starts a string behind a bracket, comma or colon, not inside a word.
        elif character == '"' or (character == "'" and before in ("", *"{[(,:")):
            quote = character
        else:
            yield position, character
            before = before if character.isspace() else character
        position += 1


def _outside_strings(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` applied to the runs of characters outside strings."""
    outside = {position for position, _ in _structure(text, 0)}
    result, run = [], ""
    for position, character in enumerate(text):
        if position in outside:
            run += character
            continue
        result += [change(run), character]
        run = ""
    return "".join([*result, change(run)])


def _without_comments(text: str) -> str:
    """The text without `// ...` up to the end of the line; what stands in a comment may hold quotes."""
    position = 0
    while True:
        slash = next((p for p, c in _structure(text, position) if c == "/" and text[p + 1 : p + 2] == "/"), None)
        if slash is None:
            return text
        end = text.find("\n", slash)
        text = text[:slash] + (text[end:] if end >= 0 else "")
        position = slash


def _without_trailing_commas(text: str) -> str:
    return _outside_strings(text, lambda part: re.sub(r",(\s*[}\]])", r"\1", part))


#: Name and function of every mend, tried one after the other, each on the result of the last.
_MENDS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", lambda text: text),
    ("invisible_characters", lambda text: text.translate(_INVISIBLE).translate(_SPACES)),
    ("comments", _without_comments),
    ("trailing_comma", _without_trailing_commas),
    ("typographic_quotes", lambda text: text.translate(_TYPOGRAPHIC)),
)
