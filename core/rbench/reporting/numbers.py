"""Numbers as reports print them: decimal rounding half up, and one spelling for what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from rbench.rounding import half_up, half_up_percent

#: What the paper prints for an undefined coefficient.
NOT_KNOWN = "N/A"


def percent(rate: float | None) -> str:
    """A rate 0..1 as a percentage with two decimals."""
    return NOT_KNOWN if rate is None else str(half_up_percent(rate))


def percentage(value: float | None) -> str:
    """A number that is a percentage already, with two decimals."""
    return NOT_KNOWN if value is None else str(half_up(value))


def interval(bounds: Sequence[float] | None) -> str:
    """An interval of rates 0..1 in percent, `[50.10, 57.60]`."""
    return NOT_KNOWN if bounds is None else f"[{percent(bounds[0])}, {percent(bounds[1])}]"


def score(value: float | None) -> str:
    """A graded score 0..1 with three decimals."""
    return NOT_KNOWN if value is None else str(half_up(value, 3))


def count(value: int | None) -> str:
    """A count."""
    return NOT_KNOWN if value is None else str(value)
