"""Do two factors act on their own? A test of additivity on the logit scale, and what the IEC is without interaction."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from rbench_metric_bias.coefficients import interaction_ratios, mean_over_defined
from rbench_metric_bias.independent import require_independent
from rbench_metric_bias.intervals import central_interval
from rbench_metric_bias.logit import Grid, fitted, variance_components
from rbench_metric_bias.outcomes import Counts, OutcomeTable, Rates, success_rates

Interval = tuple[float, float]

#: Precision of every effect in the tests: keeps levels that always or never succeed finite.
RIDGE = 0.1
#: Free signs from which sign flips are used: their smallest p is then below 1 %.
_ENOUGH_SIGNS = 7
_ALL_SIGNS_UP_TO = 12
#: Pairs of blocks below which nothing can be tested: Student's t with fewer never reaches 5 % two blocks apart.
_ENOUGH_PAIRS = 6


@dataclass(frozen=True)
class Additivity:
    """A test of the hypothesis that the logits of the success rate are A + B.

    Attributes:
        p_value: None when it cannot be tested.
        method: `sign flips of blocks`, `pairs of blocks` or `Pearson`.
    """

    p_value: float | None
    method: str | None


def additivity_over_blocks(table: OutcomeTable, permutations: int, rng: np.random.Generator) -> Additivity:
    """Test additivity with blocks as the independent units.

    Fits logit p = A + B + block. The residuals of a block, cleared of row and column means, are its share of an
    interaction. What is real comes again in other blocks: the statistic is the sum over pairs of blocks of the
    products of these residuals, whose expectation is 0 without interaction, whatever ties the cells of one block.
    Its distribution: all signs of whole blocks (drawn when there are many); with few blocks Student's t of the sum
    over its root of squares.

    Blocks that miss a cell are left out.
    """
    residuals = [r for r in (_interaction_residuals(table, row) for row in range(len(table.places))) if len(r) > 1]
    products = [block @ block.T * (1 - np.eye(len(block))) for block in residuals]
    pairs = sum(len(p) * (len(p) - 1) // 2 for p in products)
    squares = sum(float((p**2).sum()) for p in products)
    if pairs < _ENOUGH_PAIRS or squares <= 1e-12:
        return Additivity(None, None)
    seen = sum(float(p.sum()) for p in products)
    free = sum(len(p) - 1 for p in products)
    if free < _ENOUGH_SIGNS:
        # Each pair stands twice in `seen` and in `squares`.
        return Additivity(float(stdtr(pairs, -seen / (2 * squares) ** 0.5)), "pairs of blocks")
    flipped, exact = _sign_flips(products, permutations, rng)
    at_least = int((flipped >= seen - 1e-9 * abs(seen)).sum())
    p_value = at_least / len(flipped) if exact else (at_least + 1) / (len(flipped) + 1)
    return Additivity(p_value, "sign flips of blocks")


def additivity_of_cells(table: OutcomeTable, seeds: str, permutations: int, rng: np.random.Generator) -> Additivity:
    """Pearson's test of additivity over independent cells, with a parametric bootstrap from the additive fit.

    Raises:
        UsageError: the seeds are shared.
    """
    require_independent(seeds, "Pearson additivity test")
    grids = [
        grid for grid in (_grid(table, row, blocks=False) for row in range(len(table.places))) if grid.trials.any()
    ]
    if not grids or not any(0 < grid.successes.sum() < grid.trials.sum() for grid in grids):
        return Additivity(None, None)
    seen, drawn = 0.0, np.zeros(permutations)
    for grid in grids:
        seen += _pearson(grid)
        rates = grid.rates(_additive(grid))
        for i in range(permutations):
            drawn[i] += _pearson(grid.with_successes(rng.binomial(grid.trials, rates)))
    return Additivity((int((drawn >= seen * (1 - 1e-9)).sum()) + 1) / (permutations + 1), "Pearson")


@dataclass(frozen=True)
class Floor:
    """IEC of additive agents like this one: mean and 95 %, by direction `A;B`."""

    mean: Mapping[str, float | None]
    interval: Mapping[str, Interval | None]


def iec_floor(
    table: OutcomeTable, independent: bool, draws: int, rng: np.random.Generator, eps: float, ddof: int
) -> Floor:
    """Draw outcomes from an additive fit and compute their IEC, as that of the run is computed.

    The effects of the fit are shrunk by as much as the data say (their variance components): effects that are only
    noise would raise the floor, and too much shrinking would take real ones from it.
    """
    first, second = table.dimension.factors
    rates = []
    for row in range(len(table.places)):
        grid = _grid(table, row, blocks=not independent)
        fit = grid.rates(_shrunk(grid)) if grid.trials.any() else np.zeros(grid.trials.shape)
        drawn = rng.binomial(grid.trials, fit, (draws, *grid.trials.shape)).sum(axis=1)
        rates.append(success_rates(drawn, np.broadcast_to(grid.trials.sum(axis=0), drawn.shape)))
    stacked = np.stack(rates, axis=1)
    mean: dict[str, float | None] = {}
    interval: dict[str, Interval | None] = {}
    for direction, oriented in ((f"{first};{second}", stacked.swapaxes(2, 3)), (f"{second};{first}", stacked)):
        values = mean_over_defined(interaction_ratios(oriented, eps, ddof).iec)
        values = values[~np.isnan(values)]
        mean[direction] = float(values.mean()) if len(values) else None
        interval[direction] = central_interval(values)
    return Floor(mean, interval)


def logit_components(table: OutcomeTable) -> dict[str, float | None]:
    """Standard deviations in logits of A, of B, of `A x B` and of blocks: root mean square over contexts."""
    first, second = table.dimension.factors
    names = (first, second, f"{first} x {second}", "block")
    found = []
    for row in range(len(table.places)):
        successes, episodes = _by_repeat(table, row)
        if 0 < successes.sum() < episodes.sum():
            found.append(variance_components(Grid.of(successes, episodes, combinations=True)))
    if not found:
        return dict.fromkeys(names)
    means = np.sqrt((np.array(found) ** 2).mean(axis=0))
    return dict(zip(names, (float(value) for value in means), strict=True))


def _by_repeat(table: OutcomeTable, row: int) -> tuple[Counts, Counts]:
    """One context as (repeats, levels of A, levels of B)."""
    successes, episodes = (np.moveaxis(x[row], -1, 0) for x in (table.successes, table.episodes))
    return successes, episodes


def _grid(table: OutcomeTable, row: int, blocks: bool) -> Grid:
    """One context of the table; without blocks the repeats of a cell are counted together."""
    successes, episodes = _by_repeat(table, row)
    if not blocks:
        successes, episodes = successes.sum(axis=0, keepdims=True), episodes.sum(axis=0, keepdims=True)
    return Grid.of(successes, episodes, blocks=blocks)


def _additive(grid: Grid) -> Rates:
    coefficients, _ = fitted(grid, grid.precision([RIDGE] * len(grid.sizes)))
    return coefficients


def _sign_flips(products: list[Rates], permutations: int, rng: np.random.Generator) -> tuple[Rates, bool]:
    """The sum of products under sign flips of whole blocks, and whether all of them were made.

    The first block of a context keeps its sign: flipping all of a context changes nothing.
    """
    free = [len(p) - 1 for p in products]
    exact = sum(free) <= _ALL_SIGNS_UP_TO
    if exact:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=sum(free))))
    else:
        signs = rng.choice((1.0, -1.0), (permutations, sum(free)))
    total = np.zeros(len(signs))
    for p, some in zip(products, np.split(signs, np.cumsum(free)[:-1], axis=1), strict=True):
        s = np.concatenate([np.ones((len(signs), 1)), some], axis=1)
        total += ((s @ p) * s).sum(axis=1)
    return total, exact


def _shrunk(grid: Grid) -> Rates:
    components = np.array(variance_components(grid))
    coefficients, _ = fitted(grid, grid.precision(1 / components**2))
    return coefficients


def _interaction_residuals(table: OutcomeTable, row: int) -> Rates:
    """(complete blocks, cells) residuals of the additive fit, cleared of row and column means."""
    successes, episodes = _by_repeat(table, row)
    complete = episodes.all(axis=(1, 2))
    if not complete.any():
        return np.zeros((0, 0))
    grid = Grid.of(successes[complete], episodes[complete])
    e = grid.successes - grid.rates(_additive(grid))
    e = e - e.mean(axis=1, keepdims=True) - e.mean(axis=2, keepdims=True) + e.mean(axis=(1, 2), keepdims=True)
    residuals: Rates = e.reshape(len(e), -1)
    return residuals


def _pearson(grid: Grid) -> float:
    expected = grid.rates(_additive(grid))
    seen = grid.trials > 0
    k, n, p = grid.successes[seen], grid.trials[seen], expected[seen]
    return float(((k - n * p) ** 2 / np.maximum(n * p * (1 - p), 1e-12)).sum())
