"""Permutation tests of bias, and the noise floor of the CV.

What can be exchanged when there is no bias decides everything. With shared seeds the levels of a block (context,
repeat) saw the same jitter: outcomes are dealt out again among the levels of each block. With independent seeds they
are dealt out among all cells and repeats of a context.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench_metric_bias.coefficients import coefficient_of_variation, mean_over_defined, moments
from rbench_metric_bias.intervals import central_interval
from rbench_metric_bias.outcomes import Counts, OutcomeTable, Rates, success_rates

#: Outcomes dealt at once: 8 MB of random keys.
_CHUNK = 2_000_000
#: Outcomes dealt in all; above it there are fewer permutations, but at least `_FEWEST`.
_WORK = 100_000_000
_FEWEST = 999


@dataclass(frozen=True)
class AnyBias:
    """What exchanging outcomes shows about bias in a dimension.

    Attributes:
        p_value: that outcomes so exchanged differ between levels as much as those seen; None when no exchange
            changes anything.
        floor: mean CV of exchanged outcomes: what an agent of this success rate shows without any bias, percent.
        floor_interval: 95 % of those CVs.
        exact: all arrangements were counted, none drawn.
    """

    p_value: float | None
    floor: float | None
    floor_interval: tuple[float, float] | None
    exact: bool


def any_bias(
    table: OutcomeTable, independent: bool, permutations: int, rng: np.random.Generator, eps: float, ddof: int
) -> AnyBias:
    """Test whether any level differs in any context, and the floor of the CV.

    The statistic is the variance of the success rates of the levels, summed over contexts. Every arrangement is
    counted when there are at most `permutations`; else that many are drawn (fewer for very large runs).

    Args:
        table: of a dimension with one factor.
        independent: every cell and repeat has its own seed.
        permutations: how many to draw.
        rng: draws them.
        eps: of the CV.
        ddof: of the CV.
    """
    successes, episodes = table.blocks()
    cells = episodes.sum(axis=1)

    def measured(counts: Counts) -> tuple[Rates, Rates]:
        rates = success_rates(counts, np.broadcast_to(cells, counts.shape))
        _, spread, _ = moments(rates, ddof)
        return (spread**2).sum(axis=-1), mean_over_defined(coefficient_of_variation(rates, eps, ddof))

    seen, _ = measured(successes.sum(axis=1))
    strata = (len(cells), -1) if independent else (-1, successes.shape[-1])
    present = episodes.reshape(strata) > 0
    arrangements = _arrangements(successes.reshape(strata).sum(axis=1), present, permutations, rng)
    results = [measured(dealt.reshape(-1, *successes.shape).sum(axis=2)) for dealt in arrangements.chunks]
    statistics, percents = (np.concatenate(parts) for parts in zip(*results, strict=True))
    floors = percents[~np.isnan(percents)]
    return AnyBias(
        p_value=_p_value(float(seen), statistics, arrangements.exact),
        floor=float(floors.mean()) if len(floors) else None,
        floor_interval=central_interval(floors),
        exact=arrangements.exact,
    )


def main_effect(table: OutcomeTable, permutations: int, rng: np.random.Generator) -> float | None:
    """Test whether some level is better or worse in the mean over contexts.

    Levels are permuted once per context, jointly over its repeats, so the test keeps its level when levels and
    contexts interact without a main effect. Permuting inside single blocks would reject in a third of such cases.

    Returns:
        p, None when no permutation changes anything: one context, one level, or no two cells that differ.
    """
    rates = table.cell_rates
    known = [(np.flatnonzero(~np.isnan(row)), row[~np.isnan(row)]) for row in rates]
    known = [(levels, row - row.mean()) for levels, row in known if len(row) > 1]
    contexts = np.zeros(rates.shape[1])
    for levels, _ in known:
        contexts[levels] += 1
    used = contexts > 0
    if not used.any():
        return None

    def statistic(sums: Rates) -> Rates:
        means = sums[..., used] / contexts[used]
        result: Rates = ((means - means.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
        return result

    seen = np.zeros(rates.shape[1])
    for levels, row in known:
        seen[levels] += row
    drawn = []
    for size in _sizes(permutations, rates.size):
        sums = np.zeros((size, rates.shape[1]))
        for levels, row in known:
            sums[:, levels] += rng.permuted(np.broadcast_to(row, (size, len(row))), axis=1)
        drawn.append(statistic(sums))
    return _p_value(float(statistic(seen)), np.concatenate(drawn), exact=False)


@dataclass(frozen=True)
class _Arrangements:
    chunks: Iterator[npt.NDArray[np.bool_]]
    exact: bool


def _arrangements(
    successes: Counts, present: npt.NDArray[np.bool_], permutations: int, rng: np.random.Generator
) -> _Arrangements:
    """Ways to deal the successes of each stratum out among its episodes: (size, strata, slots), in chunks."""
    slots = present.sum(axis=1)
    number = math.prod(math.comb(int(n), int(k)) for n, k in zip(slots, successes, strict=True))
    if number <= permutations:
        return _Arrangements(_all_deals(successes, present), exact=True)
    sizes = _sizes(permutations, present.size)
    return _Arrangements((_deal(successes, present, size, rng) for size in sizes), exact=False)


def _sizes(permutations: int, slots: int) -> Iterator[int]:
    """Sizes of the chunks in which to permute so many slots: together `permutations`, fewer for very large runs."""
    count = max(min(permutations, _WORK // max(slots, 1)), min(permutations, _FEWEST))
    chunk = max(1, _CHUNK // max(slots, 1))
    for start in range(0, count, chunk):
        yield min(chunk, count - start)


def _deal(successes: Counts, present: npt.NDArray[np.bool_], size: int, rng: np.random.Generator) -> Any:
    """Random deals: every subset of its episodes, of the right size, is as likely as any other in a stratum."""
    # Whole numbers of 32 bits sort fast, and two are equal in one of a million blocks.
    keys = rng.integers(0, 2**32 - 1, (size, *present.shape), dtype=np.uint32)
    keys[:, ~present] = 2**32 - 1
    last = np.sort(keys, axis=-1)[:, np.arange(len(successes)), np.maximum(successes - 1, 0)]
    return (keys <= last[..., None]) & (successes > 0)[:, None]


def _all_deals(successes: Counts, present: npt.NDArray[np.bool_]) -> Iterator[npt.NDArray[np.bool_]]:
    """Every deal once: the product over strata of the subsets of their episodes."""
    strata = []
    for k, slots in zip(successes, present, strict=True):
        subsets = list(itertools.combinations(np.flatnonzero(slots), int(k)))
        deals = np.zeros((len(subsets), len(slots)), np.bool_)
        for deal, subset in zip(deals, subsets, strict=True):
            deal[list(subset)] = True
        strata.append(deals)
    number = math.prod(len(deals) for deals in strata)
    chunk = max(1, _CHUNK // present.size)
    for start in range(0, number, chunk):
        # The number of an arrangement, read as digits, says which deal each stratum takes. Constant strata have one
        # deal only. An array axis for each stratum would stop at the 64 that NumPy has.
        rest = np.arange(start, min(start + chunk, number))
        dealt = np.empty((len(rest), *present.shape), np.bool_)
        for position, deals in enumerate(strata):
            rest, choice = np.divmod(rest, len(deals))
            dealt[:, position] = deals[choice]
        yield dealt


def _p_value(seen: float, statistics: Rates, exact: bool) -> float | None:
    """Share of statistics at least as large as the one seen, which itself is one of those drawn."""
    tolerance = 1e-9 * max(abs(seen), float(np.abs(statistics).max()))
    if float(statistics.max() - statistics.min()) <= tolerance:
        return None
    at_least = int((statistics >= seen - tolerance).sum())
    return at_least / len(statistics) if exact else (at_least + 1) / (len(statistics) + 1)
