"""Calls that a language model writes, read by an allow-list. Nothing is ever evaluated."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The functions that a plan may call, with what their argument is, if they have one.
ALLOWED: Mapping[str, type | None] = {
    "vlm_move": str,
    "move_to_top_view": None,
    "back_zero": None,
    "pump_on": None,
    "pump_off": None,
    "wait": float,
}
#: Longest text of a call, and longest wait in seconds.
LONGEST, LONGEST_WAIT = 500, 5.0


class RefusedCall(ValueError):
    """A text is no call that is allowed; the message says why."""


@dataclass(frozen=True)
class FunctionCall:
    """A call of an allowed function, with its argument or None."""

    name: str
    argument: Any = None


def parse_call(text: str) -> FunctionCall:
    """The call that a text is: an allowed name and literal arguments, nothing else.

    Raises:
        RefusedCall: it is anything else.
    """
    if len(text) > LONGEST:
        raise RefusedCall(f"longer than {LONGEST} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in its strings are not worth a word
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise RefusedCall("not a function call") from None
    if not isinstance(tree, ast.Call):
        raise RefusedCall("not a function call")
    if not isinstance(tree.func, ast.Name) or tree.func.id not in ALLOWED:
        raise RefusedCall("not an allowed function")
    name = tree.func.id
    kind = ALLOWED[name]
    if tree.keywords or len(tree.args) != (kind is not None):
        raise RefusedCall(f"{name} takes {'one argument' if kind else 'no arguments'}, without a name")
    return FunctionCall(name, _literal(name, tree.args[0], kind) if kind else None)


def _literal(name: str, node: ast.expr, kind: type) -> str | float:
    value = node.value if isinstance(node, ast.Constant) else None
    if kind is str:
        if not isinstance(value, str) or not value.strip():
            raise RefusedCall(f"{name} takes a text")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LONGEST_WAIT:
        raise RefusedCall(f"{name} takes seconds, more than 0 and at most {LONGEST_WAIT:g}")
    return float(value)
