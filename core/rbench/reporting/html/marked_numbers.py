"""Numbers on the page: each is a `<data>` element that holds the exact value and says where in the JSON it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from rbench.reporting.json_pointer import pointer
from rbench.reporting.numbers import NOT_KNOWN, p_value, percent
from rbench.reporting.printable import printable
from rbench.rounding import half_up, half_up_percent


def _plain(value: Any) -> str:
    """A number of which nothing is known: counts whole, the rest with three decimals or three digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return str(half_up(value, 3)) if value == 0 or 0.001 <= abs(value) < 1e6 else f"{value:.3g}"


def _trimmed(value: Any) -> str:
    """The same where no column of numbers is to be read: without zeros at the end."""
    text = _plain(value)
    return text.rstrip("0") + "0" * text.rstrip("0").endswith(".") if "." in text and "e" not in text else text


def _signed(value: Decimal) -> str:
    return f"+{value}" if value > 0 else str(value).replace("-", "−")


#: How a number is written, by its kind.
FORMATS: Mapping[str, Callable[[Any], str]] = {
    "count": lambda value: f"{int(value):,}",
    "rate": percent,
    "short_rate": lambda value: str(half_up_percent(value, 1)),
    "percent": lambda value: str(half_up(value)),
    "short_percent": lambda value: str(half_up(value, 1)),
    "ratio": lambda value: str(half_up(value)),
    "points": lambda value: _signed(half_up_percent(value, 1)),
    "change": lambda value: _signed(half_up(value, 1)),
    "size": lambda value: str(half_up(abs(value), 1)),
    "short": lambda value: str(half_up(value, 1)),
    "score": lambda value: str(half_up(value, 3)),
    "p": p_value,
    "plain": _plain,
    "trimmed": _trimmed,
}

_UNKNOWN = Markup('<span class="unknown" title="not defined">{}</span>').format(NOT_KNOWN)


class MarkedNumbers:
    """Writes numbers of a document; every number of the page comes from here.

    Args:
        document: the plain data that the page carries, see `rbench.reporting.html.document`.
        base: path to where paths begin.
    """

    def __init__(self, document: Mapping[str, Any], base: tuple[str | int, ...] = ()) -> None:
        self._document = document
        self._base = base

    def at(self, *path: str | int) -> MarkedNumbers:
        """The numbers below a path of keys and indices."""
        return MarkedNumbers(self._document, (*self._base, *path))

    def value(self, *path: str | int) -> Any:
        """What stands at a path; None where a key is missing."""
        found: Any = self._document
        for key in (*self._base, *path):
            if isinstance(found, Mapping):
                found = found.get(key)
            elif isinstance(found, list) and isinstance(key, int) and key < len(found):
                found = found[key]
            else:
                return None
        return found

    def number(self, kind: str, *path: str | int) -> Markup:
        """The number at a path, or what stands for one that is not defined."""
        value = self.value(*path)
        if value is None:
            return _UNKNOWN
        return Markup('<data value="{}" data-path="{}">{}</data>').format(
            repr(value), pointer(*self._base, *path), FORMATS[kind](value)
        )

    def any(self, *path: str | int, kind: str = "plain") -> Markup:
        """Whatever stands at a path: a number, an interval of numbers or a text."""
        value = self.value(*path)
        if isinstance(value, list):
            return self.interval(kind, *path)
        if isinstance(value, bool):
            return Markup("yes" if value else "no")
        if isinstance(value, str):
            return Markup('<bdi class="text">{}</bdi>').format(printable(value))
        return self.number(kind, *path)

    def cell(self, kind: str, table: str, row: int, column: str) -> Markup:
        """The number in a table, by the number of its row and the name of its column."""
        place = self._document["tables"][table]["columns"].index(column)
        return self.number(kind, "tables", table, "rows", row, place)

    def interval(self, kind: str, *path: str | int) -> Markup:
        """An interval `[low, high]` at a path."""
        if self.value(*path) is None:
            return _UNKNOWN
        low, high = self.number(kind, *path, 0), self.number(kind, *path, 1)
        return Markup('<span class="interval">[{}, {}]</span>').format(low, high)
