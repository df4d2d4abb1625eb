"""Where two runs differ, key by key, and how that is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: Differences named in a message; the rest are counted.
_NAMED = 8

_MISSING = "nothing"

#: Two values of each key, by its dotted path.
Differences = Mapping[str, tuple[Any, Any]]


def differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Dotted path and both values of every leaf in which two plain trees differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from differences(before.get(key, _MISSING), after.get(key, _MISSING), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, f"{path}[{i}]")
    elif before != after:
        yield path, (before, after)


def named(found: Differences, words: str = "{} was {} and is {}") -> str:
    """Differences as part of a sentence.

    Args:
        words: takes the key and both values.
    """
    parts = [words.format(key, _short(one), _short(other)) for key, (one, other) in found.items()]
    more = len(parts) - _NAMED
    return "; ".join(parts[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
