"""The debiased CV and the intra-class correlation, from pairs of blocks.

Two blocks of a context (two repeats, each with its own jitter) are independent; the episodes inside one are not. So
every product of outcomes is taken across two blocks: the covariance over levels of two blocks estimates the variance
of the true success rates of the levels, and the product of their means the square of the true mean, without bias,
whatever happens inside blocks. For complete tables this is the block form of the paper-independent estimator E3 with
w = MS_residual / r and mu^2 corrected by MS_block / (n r); unlike that form it also takes tables with holes.

The intervals are Fieller's: the values that a ratio could have, tested one by one. The usual interval (estimate plus
or minus t standard errors) covers 65 to 90 % for a deterministic agent, because there the estimate and its
standard error fall and rise together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from rbench_metric_bias.outcomes import Counts, Rates

Interval = tuple[float, float]

#: Blocks of a context from which the variance between pairs can be told from that between blocks.
_ENOUGH_BLOCKS = 4


@dataclass(frozen=True)
class Debiased:
    """How much the true success rates of the levels vary. None where it is not defined.

    Attributes:
        square: squared CV, a fraction; may be negative, which makes it (nearly) unbiased: average this, not `cv`.
        square_interval: 95 %.
        cv: percent; 0 where the square is negative. cv_interval: 95 %.
        icc: share of the variance of outcomes that lies between the levels, 0..1: 0 none, 1 every level succeeds
            always or never. Comparable between agents of different success rates.
        contexts: contexts in which two blocks share two levels.
    """

    square: float | None = None
    square_interval: Interval | None = None
    cv: float | None = None
    cv_interval: Interval | None = None
    icc: float | None = None
    contexts: int = 0


def debiased(successes: Counts, episodes: Counts, confidence: float = 0.95) -> Debiased:
    """Debiased CV = 100 sqrt(sum over contexts of variances / sum of squared means), and the ICC.

    Args:
        successes: (contexts, blocks, levels) 0 or 1.
        episodes: same shape; 1 where there is an episode.
        confidence: of the intervals, 0..1.
    """
    pairs = _Pairs.of(successes, episodes)
    if not pairs.used.any():
        return Debiased()
    levels = successes.shape[-1]
    cv = Ratio.of(pairs, pairs.variance, pairs.squared_mean, highest=levels - 1.0, confidence=confidence)
    variance, outcomes = pairs.means(pairs.variance).sum(), pairs.means(pairs.bernoulli).sum()
    return Debiased(
        square=cv.value,
        square_interval=cv.interval,
        cv=None if cv.value is None else _root_percent(cv.value),
        cv_interval=_mapped(_root_percent, cv.interval_from_zero),
        icc=min(1.0, max(0.0, float(variance / outcomes))) if outcomes > 0 else None,
        contexts=int(pairs.used.sum()),
    )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """For every context and pair of its blocks an unbiased estimate of each quantity, 0 where a pair has none.

    Attributes:
        together: (contexts, blocks, blocks) the two blocks share at least two levels.
        variance: of the true rates over the levels (population form).
        squared_mean: square of the mean true rate.
        bernoulli: mean rate minus its square: the variance of single outcomes.
    """

    together: npt.NDArray[np.bool_]
    variance: Rates
    squared_mean: Rates
    bernoulli: Rates

    @classmethod
    def of(cls, successes: Counts, episodes: Counts) -> _Pairs:
        y, present = successes.astype(float), episodes.astype(float)
        shared = present @ present.swapaxes(1, 2)
        sums = y @ present.swapaxes(1, 2)
        other_sums = sums.swapaxes(1, 2)
        shared[:, np.arange(shared.shape[-1]), np.arange(shared.shape[-1])] = 0
        together = shared >= 2
        n = np.where(together, shared, 2.0)
        products = sums * other_sums / n
        all_levels = np.maximum(episodes.any(axis=1).sum(axis=-1), 2)[:, None, None]
        covariance = (y @ y.swapaxes(1, 2) - products) / (n - 1) * (all_levels - 1) / all_levels
        return cls(
            together,
            np.where(together, covariance, 0.0),
            np.where(together, products / n, 0.0),
            np.where(together, (sums + other_sums) / (2 * n) - products / n, 0.0),
        )

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        """(contexts,) which have a pair."""
        result: npt.NDArray[np.bool_] = self.together.sum(axis=(1, 2)) > 0
        return result

    def means(self, values: Rates) -> Rates:
        """(used contexts,) mean over the pairs of each context."""
        result: Rates = values[self.used].sum(axis=(1, 2)) / self.together[self.used].sum(axis=(1, 2))
        return result


@dataclass(frozen=True)
class Ratio:
    """A ratio of two sums over contexts, with Fieller's interval.

    Attributes:
        interval_from_zero: the same for a ratio that cannot be negative: its upper end is that of an estimate of at
            least 0, so that a variance underestimated by chance does not give an interval of width 0.
    """

    value: float | None
    interval: Interval | None
    interval_from_zero: Interval | None

    @classmethod
    def of(cls, pairs: _Pairs, above: Rates, below: Rates, highest: float, confidence: float) -> Ratio:
        """The ratio of the means over pairs of `above` and `below`, summed over contexts; at most `highest`."""
        numerator, denominator = float(pairs.means(above).sum()), float(pairs.means(below).sum())
        if denominator <= 0:
            return cls(None, None, None)
        value = numerator / denominator
        spread = _Spread.of(pairs, above, below)
        if spread is None or spread.variance(value) <= 0:
            return cls(value, None, None)
        quantile = float(stdtrit(spread.freedom, 0.5 + confidence / 2))

        def surplus(numerator: float, ratio: float) -> float:
            return (numerator - ratio * denominator) ** 2 - quantile**2 * spread.variance(ratio)

        low = _crossing(lambda ratio: surplus(numerator, ratio), value, -1.0)
        high = _crossing(lambda ratio: surplus(numerator, ratio), value, highest)
        from_zero = high
        if value < 0:
            from_zero = _crossing(lambda ratio: surplus(0.0, ratio), 0.0, highest)
        return cls(value, (low, high), (max(0.0, low), from_zero))


@dataclass(frozen=True)
class _Spread:
    """Variance of `numerator - ratio * denominator` as a function of the ratio, with its degrees of freedom.

    Each part holds the coefficients (1, ratio, ratio^2) of a quadratic.

    Attributes:
        blocks: what differs between blocks; estimated without bias, so it can come out negative and counts as 0 then.
        pairs: what is left between pairs of blocks.
    """

    blocks: Rates
    pairs: Rates
    freedom: int

    @classmethod
    def of(cls, pairs: _Pairs, above: Rates, below: Rates) -> _Spread | None:
        """From the pairs inside contexts; where they are too few, from how much contexts differ.

        Contexts have true values of their own, so the latter is too large rather than too small.
        """
        if (inside := _inside_contexts(pairs, above, below)) is not None:
            return inside
        a, b = pairs.means(above), pairs.means(below)
        if len(a) < 2:
            return None
        covariance = len(a) * np.cov(a, b)
        between = np.array([covariance[0, 0], -2 * covariance[0, 1], covariance[1, 1]])
        return cls(np.zeros(3), between, len(a) - 1)

    def variance(self, ratio: float) -> float:
        """The variance at a ratio."""
        powers = np.array([1.0, ratio, ratio * ratio])
        return max(0.0, float(self.blocks @ powers)) + float(self.pairs @ powers)


def _inside_contexts(pairs: _Pairs, above: Rates, below: Rates) -> _Spread | None:
    """Two-way analysis of the pairs of blocks (a diallel without selfs), context by context.

    The mean over all pairs of r blocks has the variance 4 s1 / r + 2 s2 / (r (r - 1)), with s1 the variance of what a
    block brings to all of its pairs and s2 that of what is special to a pair (Hoeffding's decomposition).
    """
    blocks, special, freedom = np.zeros(3), np.zeros(3), 0
    for context in np.flatnonzero(pairs.used):
        here = pairs.together[context].any(axis=1)
        r = int(here.sum())
        if r < _ENOUGH_BLOCKS or pairs.together[context][here][:, here].sum() < r * (r - 1):
            return None
        apart = ~np.eye(r, dtype=np.bool_)
        effects, rests = [], []
        for values in (above, below):
            table = values[context][here][:, here]
            mean, means = table.sum() / (r * (r - 1)), table.sum(axis=1) / (r - 1)
            effects.append(means - mean)
            rest = table - (r - 1) / (r - 2) * (means[:, None] + means) + r / (r - 2) * mean
            rests.append(rest[apart])
        of_pairs = np.array([_quadratic(rests, i) for i in range(3)]) / (r * (r - 3))
        of_blocks = (r - 1) / (r - 2) * np.array([_quadratic(effects, i) for i in range(3)])
        blocks += 4 / r * (of_blocks - of_pairs) / (r - 2)
        special += 2 / (r * (r - 1)) * of_pairs
        freedom += r - 1
    return _Spread(blocks, special, freedom)


def _quadratic(parts: list[Rates], power: int) -> float:
    """Coefficient of ratio^power in the sum of (parts[0] - ratio * parts[1])^2."""
    a, b = parts
    return float((a @ a, -2 * (a @ b), b @ b)[power])


def _crossing(surplus: Callable[[float], float], inside: float, outside: float) -> float:
    """Where the surplus turns positive between a value inside the interval and a bound; the bound if it does not."""
    if surplus(outside) <= 0:
        return outside
    low, high = inside, outside
    for _ in range(60):
        middle = (low + high) / 2
        if surplus(middle) <= 0:
            low = middle
        else:
            high = middle
    return low


def _root_percent(square: float) -> float:
    return 100.0 * math.sqrt(max(0.0, square))


def _mapped(function: Callable[[float], float], interval: Interval | None) -> Interval | None:
    return None if interval is None else (function(interval[0]), function(interval[1]))
