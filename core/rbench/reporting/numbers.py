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


def estimate(value: float | None) -> str:
    """A percentage that is estimated, with one decimal: its interval leaves no room for more."""
    return NOT_KNOWN if value is None else str(half_up(value, 1))


def estimate_interval(bounds: Sequence[float] | None) -> str:
    """An interval of percentages, `[38.3, 47.2]`."""
    return NOT_KNOWN if bounds is None else f"[{estimate(bounds[0])}, {estimate(bounds[1])}]"


def score(value: float | None) -> str:
    """A graded score 0..1, or a correlation, with three decimals."""
    return NOT_KNOWN if value is None else str(half_up(value, 3))


def p_value(value: float | None) -> str:
    """A p with three decimals, `<0.001` below what they show."""
    if value is None:
        return NOT_KNOWN
    return "<0.001" if value < 0.001 else str(half_up(value, 3))


def count(value: int | None) -> str:
    """A count."""
    return NOT_KNOWN if value is None else str(value)
