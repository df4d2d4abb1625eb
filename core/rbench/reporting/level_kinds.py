"""What the levels of a factor are, told from their names and values, so that any factor is drawn as it is best read.

Core does not know the factors: a third party's colours get swatches and its distances a curve, like the built-in ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

LevelKind = Literal["colors", "rings", "pairs", "numbers", "names"]

_RING = re.compile(r"r(\d+)a(\d+)")
_PAIR = re.compile(r"([a-z]+)-?[\d.]+_([a-z]+)-?[\d.]+")


@dataclass(frozen=True)
class Levels:
    """The levels of a factor.

    Attributes:
        kind: colors: every value is (red, green, blue), 0..255. rings: names are `r1a1` ... with as many places on
            every ring. pairs: every value is two numbers. numbers: values are numbers, all different. names: the rest.
        names: in the order of the design.
        values: of the levels that have an episode; others are not in it.
    """

    kind: LevelKind
    names: tuple[str, ...]
    values: Mapping[str, Any]

    def color(self, name: str) -> str | None:
        """The colour of a level as `#rrggbb`, when levels are colours and this one was seen."""
        if self.kind != "colors" or self.values.get(name) is None:
            return None
        red, green, blue = (min(255, max(0, round(part))) for part in self.values[name])
        return f"#{red:02x}{green:02x}{blue:02x}"

    def ring(self, name: str) -> tuple[int, int]:
        """Ring and place of a level on it, both from 1."""
        match = _RING.fullmatch(name)
        assert match is not None
        return int(match[1]), int(match[2])

    def axes(self) -> tuple[str, str]:
        """Names of the two numbers of a pair."""
        match = _PAIR.fullmatch(self.names[0]) if self.names else None
        return (match[1], match[2]) if match else ("first", "second")


def levels_of(names: Sequence[str], values: Mapping[str, Any]) -> Levels:
    """Tell what the levels of a factor are.

    Args:
        names: the levels, in the order of the design.
        values: level -> value, of as many levels as are known.
    """
    known = {name: values[name] for name in names if values.get(name) is not None}
    return Levels(_kind(names, known), tuple(names), known)


def _kind(names: Sequence[str], values: Mapping[str, Any]) -> LevelKind:
    if _are_rings(names):
        return "rings"
    found = list(values.values())
    if not found:
        return "names"
    if all(_numbers(value, 3) and all(0 <= part <= 255 for part in value) for value in found):
        return "colors"
    if all(_numbers(value, 2) for value in found):
        return "pairs"
    ordered = sorted(value for value in found if _is_number(value))
    if len(ordered) == len(found) and all(low < high for low, high in pairwise(ordered)):
        return "numbers"
    return "names"


def _are_rings(names: Sequence[str]) -> bool:
    found = [match for match in map(_RING.fullmatch, names) if match]
    if not found or len(found) < len(names):
        return False
    return max(int(match[1]) for match in found) <= 9 and max(int(match[2]) for match in found) <= 36


def _numbers(value: Any, count: int) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == count and all(map(_is_number, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9
