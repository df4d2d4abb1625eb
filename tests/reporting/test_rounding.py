"""Half-up decimal rounding, and how reports spell numbers."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rbench.reporting.numbers import interval, percent, percentage, score
from rbench.rounding import half_up, half_up_percent


@pytest.mark.parametrize(
    ("value", "printed"),
    [(58.595, "58.60"), (0.125, "0.13"), (2.675, "2.68"), (1.005, "1.01"), (0.0, "0.00"), (244.9489742, "244.95")],
)
def test_halves_round_up_as_written(value: float, printed: str) -> None:
    assert str(half_up(value)) == printed


def test_decimals_round_exactly() -> None:
    assert half_up(Decimal("46.525"), 2) == Decimal("46.53")


@pytest.mark.parametrize(
    ("successes", "episodes", "printed"),
    [
        (278, 495, "56.16"),
        (788, 1155, "68.23"),
        (7, 495, "1.41"),
        (349, 495, "70.51"),
        (1, 800, "0.13"),
        (0, 5, "0.00"),
    ],
)
def test_success_rates_print_as_in_the_paper(successes: int, episodes: int, printed: str) -> None:
    assert str(half_up_percent(successes / episodes)) == printed


def test_what_is_not_defined_is_na() -> None:
    assert [f(None) for f in (percent, percentage, interval, score)] == ["N/A"] * 4


def test_interval_is_in_percent() -> None:
    assert interval([0.0, 0.43448]) == "[0.00, 43.45]"
