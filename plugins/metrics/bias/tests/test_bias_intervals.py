"""Intervals over blocks, Wilson, dispersion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rbench_metric_bias.intervals import pooled_rate_interval, wilson_interval, within_cell_dispersion


def rows(*contexts: list[int]) -> Any:
    return np.array(contexts)


def test_equal_blocks_of_one_context_give_the_t_interval_of_their_rates() -> None:
    successes = rows([3, 5, 4, 6, 2])
    rates = successes[0] / 9
    expected = stats.t.interval(0.95, 4, rates.mean(), stats.sem(rates))
    interval = pooled_rate_interval(successes, np.full((1, 5), 9))
    assert interval == pytest.approx(expected)


def test_differences_between_contexts_are_no_uncertainty() -> None:
    episodes = np.full((2, 4), 9)
    same = pooled_rate_interval(rows([3, 4, 4, 5], [3, 4, 4, 5]), episodes)
    apart = pooled_rate_interval(rows([1, 2, 2, 3], [5, 6, 6, 7]), episodes)
    assert apart == pytest.approx(same)


def test_one_block_a_context_takes_the_spread_over_contexts() -> None:
    single, together = (
        pooled_rate_interval(values, np.full(values.shape, 9)) for values in (rows([3], [5], [4]), rows([3, 5, 4]))
    )
    assert single == pytest.approx(together)


def test_interval_is_around_the_pooled_rate_when_blocks_differ_in_size() -> None:
    interval = pooled_rate_interval(rows([9, 1, 3]), rows([10, 2, 9]))
    assert interval is not None
    assert interval[0] < 13 / 21 < interval[1]


def test_interval_is_clipped_to_rates() -> None:
    assert pooled_rate_interval(rows([0, 9, 9]), np.full((1, 3), 9)) == (0.0, 1.0)


@pytest.mark.parametrize(("rate", "expected"), [(0, (0.0, 0.4344825)), (1, (0.5655175, 1.0))])
def test_five_equal_blocks_have_wilson_width(rate: int, expected: tuple[float, float]) -> None:
    interval = pooled_rate_interval(np.full((1, 5), rate * 9), np.full((1, 5), 9))
    assert interval == pytest.approx(expected, abs=1e-6)


def test_blocks_that_agree_inside_every_context_have_wilson_width() -> None:
    interval = pooled_rate_interval(rows([9, 9, 9], [0, 0, 0]), np.full((2, 3), 9))
    assert interval == wilson_interval(0.5, 6)


def test_one_block_is_one_observation() -> None:
    assert pooled_rate_interval(rows([3]), rows([9])) == wilson_interval(1 / 3, 1)


def test_blocks_without_episodes_do_not_count() -> None:
    full = pooled_rate_interval(rows([3, 5]), rows([9, 9]))
    assert pooled_rate_interval(rows([3, 0, 5], [0, 0, 0]), rows([9, 0, 9], [0, 0, 0])) == full


def test_no_episodes_no_interval() -> None:
    assert pooled_rate_interval(rows([0, 0]), rows([0, 0])) is None


@pytest.mark.parametrize(("successes", "episodes"), [(0, 5), (5, 5), (6, 24), (10, 24), (1, 1)])
def test_wilson_agrees_with_a_reference(successes: int, episodes: int) -> None:
    expected = stats.binomtest(successes, episodes).proportion_ci(0.95, method="wilson")
    interval = wilson_interval(successes / episodes, episodes)
    assert interval == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert interval[1] - interval[0] > 0.05


def test_intervals_of_6_and_10_in_24_overlap() -> None:
    assert wilson_interval(6 / 24, 24)[1] > wilson_interval(10 / 24, 24)[0]


def test_coverage_under_shared_repeat_effects_is_near_nominal() -> None:
    generator = np.random.default_rng(7)
    truth, covered, trials = 0.5, 0, 400  # the truth by symmetry of the effects
    effects = generator.normal(0, 1.0, size=(trials, 55, 1))
    probabilities = np.broadcast_to(1 / (1 + np.exp(-effects)), (trials, 55, 21))
    outcomes = generator.random(probabilities.shape) < probabilities
    for trial in outcomes.sum(axis=2):
        interval = pooled_rate_interval(trial.reshape(11, 5), np.full((11, 5), 21))
        assert interval is not None
        covered += interval[0] <= truth <= interval[1]
    assert 0.91 < covered / trials < 0.99


def test_deterministic_repeats_have_no_dispersion() -> None:
    assert within_cell_dispersion(np.array([[5, 0, 5]]), np.full((1, 3), 5)) == 0.0


def test_coin_flips_have_a_dispersion_near_one() -> None:
    flips = np.random.default_rng(1).binomial(5, 0.5, size=(11, 141))
    dispersion = within_cell_dispersion(flips, np.full(flips.shape, 5))
    assert dispersion is not None
    assert math.isclose(dispersion, 1.0, abs_tol=0.08)


def test_dispersion_needs_two_repeats_and_both_outcomes() -> None:
    assert within_cell_dispersion(np.array([[1, 0]]), np.array([[1, 1]])) is None
    assert within_cell_dispersion(np.array([[5, 5]]), np.array([[5, 5]])) is None
    assert within_cell_dispersion(np.zeros((2, 0), int), np.zeros((2, 0), int)) is None
