"""CV and IEC on tables of rates: hand-computed values and every edge case."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from rbench_metric_bias.coefficients import (
    average_coefficient,
    average_rate,
    coefficient_of_variation,
    correlation_behind,
    interaction_effect,
    mean_over_contexts,
)
from rbench_metric_bias.outcomes import success_rates


def cv(counts: list[int], repeats: int, eps: float, ddof: int) -> float:
    successes = np.array(counts)
    return float(coefficient_of_variation(success_rates(successes, np.full_like(successes, repeats)), eps, ddof))


@pytest.mark.parametrize(
    ("counts", "eps", "ddof", "expected"),
    [
        ([5, 0, 0, 0, 0, 0, 0, 0, 0], 0, 0, 282.84271247461903),
        ([5, 0, 0, 0, 0, 0, 0, 0, 0], 0, 1, 300.0),
        ([5, 0, 0, 0, 0, 0, 0, 0, 0], 0.01, 0, 259.48872704092695),
        ([1, 0, 0, 0, 0, 0, 0, 0, 0], 0, 0, 282.84271247461903),
        ([1, 0, 0, 0, 0, 0, 0, 0, 0], 0.01, 0, 195.06393963766835),
    ],
)
def test_cv_of_one_context(counts: list[int], eps: float, ddof: int, expected: float) -> None:
    assert cv(counts, 5, eps, ddof) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("levels", [2, 3, 7, 9, 21, 141])
@pytest.mark.parametrize("successes", [1, 2, 3, 4, 5])
def test_equal_rates_have_a_cv_of_exactly_zero(levels: int, successes: int) -> None:
    assert cv([successes] * levels, 5, 0.01, 0) == 0.0


def test_context_without_success_is_skipped_not_counted_as_zero() -> None:
    percents = coefficient_of_variation(np.array([[1.0, 0.0], [0.0, 0.0]]), eps=0)
    assert mean_over_contexts(percents, "default") == pytest.approx(100.0)


@pytest.mark.parametrize("convention", ["paper", "default"])
def test_cv_is_undefined_when_nothing_succeeds(convention: Any) -> None:
    assert mean_over_contexts(coefficient_of_variation(np.zeros((2, 2))), convention) is None


def test_one_level_alone_shows_no_bias_and_has_no_cv() -> None:
    assert math.isnan(float(coefficient_of_variation(np.array([0.4]))))
    assert math.isnan(float(coefficient_of_variation(np.array([0.4, np.nan]))))


def test_level_without_episodes_is_left_out_of_its_context() -> None:
    with_gap = coefficient_of_variation(np.array([1.0, 0.2, np.nan]))
    assert float(with_gap) == float(coefficient_of_variation(np.array([1.0, 0.2])))


def test_rate_uses_the_repeats_that_are_there() -> None:
    rates = success_rates(np.array([2, 1, 0]), np.array([4, 2, 0]))
    assert rates[:2].tolist() == [0.5, 0.5]
    assert math.isnan(rates[2])


def expected_cv_without_bias(rate: float, repeats: int, levels: int, eps: float) -> float:
    """By counting every outcome of every cell; contexts without a success are skipped."""
    total, weight = 0.0, 0.0
    for cells in product(range(repeats + 1), repeat=levels):
        chance = math.prod(math.comb(repeats, k) * rate**k * (1 - rate) ** (repeats - k) for k in cells if any(cells))
        if any(cells):
            total += chance * cv(list(cells), repeats, eps, 0)
            weight += chance
    return total / weight


@pytest.mark.parametrize(
    ("levels", "repeats", "eps", "expected"),
    [(2, 1, 0.0, 66.66666666666666), (3, 5, 0.0, 34.89576177273977), (3, 5, 0.01, 34.083415926969357)],
)
def test_cv_of_coin_flips_is_far_above_zero(levels: int, repeats: int, eps: float, expected: float) -> None:
    assert expected_cv_without_bias(0.5, repeats, levels, eps) == pytest.approx(expected, abs=1e-9)


def test_correlation_behind_a_printed_cv() -> None:
    assert correlation_behind(0.5, 60.0, repeats=5, levels=9, eps=0) == pytest.approx(0.25625)


def test_iec_both_ways() -> None:
    table = np.array([[[1.0, 0.0], [1.0, 1.0]]])
    first = interaction_effect(table, eps=0)
    second = interaction_effect(table.swapaxes(1, 2), eps=0)
    assert [first.iec, second.iec] == pytest.approx([100.0, 100.0])
    assert [first.cv, second.cv] == pytest.approx([50.0, 50.0])


def test_undefined_row_is_left_out_of_the_iec_and_counted() -> None:
    effect = interaction_effect(np.array([[[1.0, 0.5], [0.5, 1.0], [0.0, 0.0]]]), eps=0)
    assert effect.iec == 0.0
    assert effect.rows_left_out == 1
    assert effect.cv == pytest.approx(100 / 3)
    assert not effect.degenerate


def test_no_bias_to_modulate_is_zero_and_flagged() -> None:
    effect = interaction_effect(np.array([[[0.5, 0.5], [1.0, 1.0]]]))
    assert (effect.iec, effect.cv, effect.degenerate) == (0.0, 0.0, True)


@pytest.mark.parametrize("rate", [1 / 3, 0.1, 0.3, 0.6, 0.7])
@pytest.mark.parametrize("levels", [3, 7, 21])
def test_equal_rows_stay_degenerate_whatever_their_rounding(rate: float, levels: int) -> None:
    assert interaction_effect(np.full((1, levels, levels), rate)).degenerate


def test_iec_is_undefined_with_fewer_than_two_defined_rows() -> None:
    nothing = interaction_effect(np.zeros((1, 2, 2)))
    assert (nothing.iec, nothing.cv, nothing.rows_left_out) == (None, None, 2)
    one_row = interaction_effect(np.array([[[1.0, 0.0], [0.0, 0.0]]]), eps=0)
    assert (one_row.iec, one_row.contexts_used) == (None, 0)
    assert one_row.cv == pytest.approx(100.0)


def test_iec_averages_over_the_contexts_that_define_it() -> None:
    defined, undefined = [[1.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]
    effect = interaction_effect(np.array([defined, undefined]), eps=0)
    assert effect.iec == pytest.approx(100.0)
    assert effect.contexts_used == 1


def test_outer_ratio_of_the_iec_has_no_eps() -> None:
    rows = coefficient_of_variation(np.array([[1.0, 0.5], [0.5, 0.4]]), eps=0.01)
    effect = interaction_effect(np.array([[[1.0, 0.5], [0.5, 0.4]]]), eps=0.01)
    assert effect.iec == pytest.approx(100 * rows.std() / rows.mean())


def test_average_cv_is_undefined_as_soon_as_one_is() -> None:
    assert average_coefficient([10.0, None], "default") is None
    assert average_coefficient([], "default") is None


def test_average_rate_uses_what_is_there() -> None:
    assert average_rate([0.25, 0.75], "default") == 0.5
    assert average_rate([None, 0.5], "paper") == 0.5
    assert average_rate([None], "paper") is None
