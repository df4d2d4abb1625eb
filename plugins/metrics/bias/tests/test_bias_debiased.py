"""Debiased CV and intra-class correlation over blocks, and the same as published for independent cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rbench.errors import UsageError
from rbench_metric_bias.debiased import debiased
from rbench_metric_bias.independent import beta_binomial_posterior, published_e3


def mean_squares(y: Any) -> tuple[float, float]:
    """MS of level x repeat residuals and of repeats, of one context (repeats, levels)."""
    r, n = y.shape
    residual = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    return (residual**2).sum() / ((n - 1) * (r - 1)), n * y.mean(axis=1).var(ddof=1)


def full(y: Any) -> Any:
    return np.ones(np.shape(y), int)


def test_complete_tables_give_the_block_form_of_e3() -> None:
    y = np.random.default_rng(3).integers(0, 2, (4, 5, 9))
    variances, squares = 0.0, 0.0
    for context in y.astype(float):
        residual, block = mean_squares(context)
        variances += 8 / 9 * (context.mean(axis=0).var(ddof=1) - residual / 5)
        squares += context.mean() ** 2 - block / (9 * 5)
    found = debiased(y, full(y))
    assert found.square == pytest.approx(variances / squares)
    assert found.contexts == 4


def test_identical_blocks_keep_the_cv_that_is_there() -> None:
    y = np.tile([1, 1, 0, 0], (3, 5, 1))
    found = debiased(y, full(y))
    assert found.cv == pytest.approx(100.0)
    assert found.icc == pytest.approx(1.0)


def test_blocks_without_any_difference_between_levels_have_no_interval() -> None:
    y = np.broadcast_to(np.array([1, 0, 1, 1])[:, None], (3, 4, 6))
    found = debiased(y, full(y))
    assert (found.cv, found.cv_interval, found.icc) == (0.0, None, 0.0)


def test_never_any_success_is_not_defined() -> None:
    y = np.zeros((3, 4, 6), int)
    found = debiased(y, full(y))
    assert (found.cv, found.square, found.cv_interval) == (None, None, None)


def test_always_success_has_a_cv_of_zero() -> None:
    y = np.ones((3, 4, 6), int)
    found = debiased(y, full(y))
    assert (found.cv, found.cv_interval, found.icc) == (0.0, None, None)


@pytest.mark.parametrize("shape", [(3, 1, 6), (3, 4, 1)], ids=["one repeat", "one level"])
def test_one_repeat_or_one_level_is_not_defined(shape: tuple[int, ...]) -> None:
    y = np.random.default_rng(0).integers(0, 2, shape)
    assert debiased(y, full(y)).cv is None


def test_a_negative_square_prints_zero_with_an_interval_of_some_width() -> None:
    # Two levels that alternate: blocks disagree as much as they can.
    y = np.tile([[1, 0], [0, 1], [1, 0], [0, 1]], (5, 1, 1))
    y[0, 0] = [1, 1]
    found = debiased(y, full(y))
    assert found.square is not None
    assert found.square < 0
    assert found.cv == 0.0
    assert found.cv_interval is not None
    assert found.cv_interval[0] == 0.0
    assert found.cv_interval[1] > 5.0


def test_order_of_blocks_and_levels_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, (4, 5, 9))
    shuffled = rng.permuted(y, axis=1)[:, :, rng.permutation(9)]
    blocks = y[:, rng.permutation(5)][:, :, rng.permutation(9)]
    assert debiased(blocks, full(y)).cv_interval == pytest.approx(debiased(y, full(y)).cv_interval)
    assert debiased(shuffled, full(y)).square != pytest.approx(debiased(y, full(y)).square)


def test_two_repeats_take_contexts_as_the_units() -> None:
    y = np.random.default_rng(4).integers(0, 2, (6, 2, 9))
    found = debiased(y, full(y))
    assert found.cv_interval is not None
    assert debiased(y[:1], full(y[:1])).cv_interval is None


def test_missing_episodes_are_left_out_pair_by_pair() -> None:
    rng = np.random.default_rng(5)
    y = (rng.random((200, 5, 9)) < np.linspace(0.2, 0.9, 9)).astype(int)
    episodes = (rng.random(y.shape) < 0.7).astype(int)
    truth = 100 * np.linspace(0.2, 0.9, 9).std() / 0.55
    assert debiased(y * episodes, episodes).cv == pytest.approx(truth, abs=2.0)


def shared_jitter(rng: np.random.Generator, contexts: int = 11, levels: int = 21, repeats: int = 5) -> Any:
    eta = 0.4 * rng.normal(size=(contexts, 1, 1)) + 0.7 * np.linspace(-1.7, 1.7, levels)
    jitter = 2.0 * rng.normal(size=(contexts, repeats, 1))
    return (rng.random((contexts, repeats, levels)) < 1 / (1 + np.exp(-eta - jitter))).astype(int)


def test_it_is_right_under_shared_jitter_where_the_published_form_says_zero() -> None:
    rng = np.random.default_rng(6)
    squares, published = [], []
    for _ in range(60):
        y = shared_jitter(rng)
        squares.append(debiased(y, full(y)).square)
        e3 = published_e3(y.sum(axis=1), full(y).sum(axis=1), "independent")
        assert e3 is not None
        published.append(e3.square)
    assert 100 * np.mean(squares) ** 0.5 == pytest.approx(20.0, abs=2.5)  # type: ignore[arg-type]
    assert np.mean(published) < 0  # type: ignore[arg-type]


def test_published_e3_by_hand() -> None:
    found = published_e3(np.array([[5, 2, 2]]), np.full((1, 3), 5), "independent")
    assert found is not None
    assert found.variance == pytest.approx(0.05333333333333332)
    assert found.squared_mean == pytest.approx(0.3466666666666667)
    assert found.cv == pytest.approx(39.223227027636796)


def test_published_e3_truncates_at_zero_and_keeps_the_sign_of_the_square() -> None:
    found = published_e3(np.array([[3, 2, 2]]), np.full((1, 3), 5), "independent")
    assert found is not None
    assert found.variance == pytest.approx(-0.031111111111111117)
    assert found.cv == 0.0
    assert found.square is not None
    assert found.square < 0


def test_published_e3_needs_two_repeats() -> None:
    assert published_e3(np.array([[1, 0]]), np.ones((1, 2), int), "independent") is None
    zero = published_e3(np.zeros((2, 3), int), np.full((2, 3), 5), "independent")
    assert zero is not None
    assert zero.cv is None


def test_posterior_finds_the_correlation_of_beta_binomial_cells() -> None:
    rng = np.random.default_rng(7)
    rates = rng.beta(0.5 * 4, 0.5 * 4, size=(11, 21))  # icc 1 / (4 + 1)
    cells = rng.binomial(5, rates)
    found = beta_binomial_posterior(cells, np.full(cells.shape, 5), "independent", rng, 0.01, 0)
    assert found is not None
    assert found.icc is not None
    assert found.cv_pooled is not None
    assert found.icc[0] < 0.2 < found.icc[1]
    assert found.cv_pooled[0] < 100 * rates.std(axis=1).mean() / rates.mean() < found.cv_pooled[1]


@pytest.mark.parametrize("repeats", [0, 5])
def test_without_a_success_there_is_no_posterior(repeats: int) -> None:
    none = np.zeros((2, 3), int)
    assert beta_binomial_posterior(none, none + repeats, "independent", np.random.default_rng(0), 0.01, 0) is None


def test_posterior_passes_over_contexts_and_cells_without_episodes() -> None:
    successes, episodes = np.array([[0, 0, 0], [3, 5, 0], [4, 0, 0]]), np.array([[0, 0, 0], [5, 5, 0], [5, 0, 0]])
    found = beta_binomial_posterior(successes, episodes, "independent", np.random.default_rng(0), 0.01, 0)
    assert found is not None
    assert found.cv is not None
    assert 0 < found.cv[0] < found.cv[1] < 100


@pytest.mark.parametrize("what", ["E3 as published", "beta-binomial posterior"])
def test_shared_seeds_are_refused_by_name(what: str) -> None:
    cells = np.array([[1, 2]])
    with pytest.raises(UsageError, match=rf'{what}.*seeds = "shared".*Use the estimators over blocks'):
        if what == "E3 as published":
            published_e3(cells, cells, "shared")
        else:
            beta_binomial_posterior(cells, cells, "shared", np.random.default_rng(0), 0.01, 0)
