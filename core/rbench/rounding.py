"""Decimal rounding for printing: half up, as people round, not half to even on binary fractions."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal


def half_up(value: float | Decimal, places: int = 2) -> Decimal:
    """The value rounded half up to `places` decimals.

    A float stands for the shortest decimal that denotes it: 58.595 rounds to 58.60, although its
    binary value lies below (RoboView-Bias, Table 1, prints 58.60).
    """
    exact = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    return exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


def half_up_percent(rate: float, places: int = 2) -> Decimal:
    """A rate 0..1 in percent, rounded half up."""
    return half_up(Decimal(repr(float(rate))) * 100, places)
