"""JSON and TOML that others wrote, read so that a hostile text is a ValueError and never a crash.

The parsers of the standard library raise `RecursionError` on deep nesting, or return what is too deep for whoever
walks through it afterwards.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

#: Lists and tables inside one another that a text may have; nothing that rbench reads has a tenth of it.
DEEPEST = 100


class NestedTooDeep(ValueError):
    """Lists or tables lie inside one another more than `DEEPEST` times."""

    def __init__(self) -> None:
        super().__init__(f"lists or tables lie more than {DEEPEST} deep inside one another")


def read_json(text: str, **settings: Any) -> Any:
    """What `json.loads` gives, with its settings.

    Raises:
        ValueError: not JSON (`json.JSONDecodeError`), or nested too deep (`NestedTooDeep`).
    """
    return _shallow(lambda: json.loads(text, **settings))


def read_toml(text: str) -> dict[str, Any]:
    """What `tomllib.loads` gives.

    Raises:
        ValueError: not TOML (`tomllib.TOMLDecodeError`), or nested too deep (`NestedTooDeep`).
    """
    found: dict[str, Any] = _shallow(lambda: tomllib.loads(text))
    return found


def _shallow(parse: Callable[[], Any]) -> Any:
    try:
        found = parse()
    except RecursionError:
        raise NestedTooDeep from None
    layer = [found]
    for _ in range(DEEPEST):
        layer = [item for value in layer for item in _inside(value)]
        if not layer:
            return found
    raise NestedTooDeep


def _inside(value: Any) -> list[Any]:
    """The lists and tables directly inside a value."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, (dict, list))]
