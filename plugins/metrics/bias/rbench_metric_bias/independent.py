"""Estimators for cells that do not depend on one another: E3 as published, and the beta-binomial posterior.

They are right when every cell and repeat has its own seed, and wrong when repeats share their jitter: a true CV of
19.7 then comes out as 0, and a 95 % interval covers 13 % of the time. So they ask for the seed protocol.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln, logsumexp

from rbench.errors import UsageError
from rbench_metric_bias.coefficients import coefficient_of_variation
from rbench_metric_bias.intervals import central_interval
from rbench_metric_bias.outcomes import Counts, Rates

Interval = tuple[float, float]

#: The posterior is computed on a grid of intra-class correlations and of mean rates.
_CORRELATIONS, _MEANS = 101, 80
_DRAWS = 2000


def require_independent(seeds: str, what: str) -> None:
    """Refuse an estimator for independent cells where cells are not independent.

    Raises:
        UsageError: the seeds are shared; names the estimator and what takes its place.
    """
    if seeds != "independent":
        raise UsageError(
            f'the {what} takes cells as independent, but this suite declares seeds = "{seeds}": the repeats of all'
            " levels share their jitter. Use the estimators over blocks (cv_debiased, icc, additivity_p), or declare"
            ' seeds = "independent" in the suite and run it again'
        )


@dataclass(frozen=True)
class PublishedE3:
    """E3 as published, summed over contexts. variance and squared_mean are rates, the square a fraction."""

    variance: float
    squared_mean: float

    @property
    def square(self) -> float | None:
        """Squared CV, may be negative; None when no context has a success."""
        return self.variance / self.squared_mean if self.squared_mean > 0 else None

    @property
    def cv(self) -> float | None:
        """Debiased CV in percent."""
        return None if self.square is None else 100.0 * math.sqrt(max(0.0, self.square))


def published_e3(successes: Counts, episodes: Counts, seeds: str) -> PublishedE3 | None:
    """Debiased CV from the binomial variance inside cells.

    In a context with rates p of n levels and mean mu: w = mean of k (m - k) / (m^2 (m - 1)), the unbiased variance of a
    rate; variance = (n - 1) / n (s^2 - w); squared mean = mu^2 - w / n. Levels with fewer than two repeats are left
    out.

    Args:
        successes: (contexts, levels) of each cell.
        episodes: same shape.
        seeds: the seed protocol of the design.

    Returns:
        The sums over contexts, None when no context has two levels with two repeats.

    Raises:
        UsageError: the seeds are shared.
    """
    require_independent(seeds, "debiased CV from variances inside cells (E3 as published)")
    variance, squared_mean, contexts = 0.0, 0.0, 0
    for k, m in zip(successes.astype(float), episodes.astype(float), strict=True):
        k, m = k[m >= 2], m[m >= 2]
        n = len(m)
        if n < 2:
            continue
        rates = k / m
        w = float((rates * (1 - rates) / (m - 1)).mean())
        variance += (n - 1) / n * (float(rates.var(ddof=1)) - w)
        squared_mean += float(rates.mean()) ** 2 - w / n
        contexts += 1
    return PublishedE3(variance, squared_mean) if contexts else None


@dataclass(frozen=True)
class Posterior:
    """95 % intervals of the beta-binomial posterior. CVs in percent.

    Attributes:
        cv: of the paper's coefficient on the true rates (eps and skipping as the paper's).
        cv_pooled: of what the debiased CV estimates. icc: of the intra-class correlation.
    """

    cv: Interval | None
    cv_pooled: Interval | None
    icc: Interval | None


def beta_binomial_posterior(
    successes: Counts, episodes: Counts, seeds: str, rng: np.random.Generator, eps: float, ddof: int
) -> Posterior | None:
    """Posterior of the true rates: p ~ Beta(mu k, (1 - mu) k), k = 1 / icc - 1, flat priors on the icc and each mu.

    On a grid of correlations and means, without Markov chains. One correlation for all contexts. An interval of a CV
    cannot reach 0, the edge of what it can be: for "is there any bias" read the permutation p.

    Args:
        successes: (contexts, levels) of each cell.
        episodes: same shape.
        seeds: the seed protocol of the design.
        rng: draws from the posterior.
        eps: of the CV.
        ddof: of the CV.

    Returns:
        None when nothing succeeded: the priors would be all there is.

    Raises:
        UsageError: the seeds are shared.
    """
    require_independent(seeds, "beta-binomial posterior")
    successes, episodes = successes[episodes.any(axis=1)], episodes[episodes.any(axis=1)]
    if not successes.any():
        return None
    correlations = (np.arange(_CORRELATIONS) + 0.5) / _CORRELATIONS
    means = (np.arange(_MEANS) + 0.5) / _MEANS
    strength = (1 / correlations - 1)[:, None]
    alpha, beta = means * strength, (1 - means) * strength
    likelihood = np.array([_log_likelihood(k, m, alpha, beta) for k, m in zip(successes, episodes, strict=True)])
    by_correlation = _normalised(logsumexp(likelihood, axis=2).sum(axis=0))
    chosen = rng.choice(_CORRELATIONS, size=_DRAWS, p=by_correlation)
    given = np.exp(likelihood - logsumexp(likelihood, axis=2, keepdims=True))
    squares, spreads, percents = np.zeros(_DRAWS), np.zeros(_DRAWS), np.zeros((len(successes), _DRAWS))
    for context, (k, m) in enumerate(zip(successes, episodes, strict=True)):
        mean = _draw(given[context][chosen], rng)
        a, b = alpha[chosen, mean][:, None], beta[chosen, mean][:, None]
        rates = rng.beta(a + k[m > 0], b + (m - k)[m > 0])
        percents[context] = coefficient_of_variation(rates, eps, ddof)
        spreads += rates.var(axis=1)
        squares += rates.mean(axis=1) ** 2
    defined = (successes.sum(axis=1) > 0) & ((episodes > 0).sum(axis=1) > 1)
    return Posterior(
        cv=central_interval(percents[defined].mean(axis=0)) if defined.any() else None,
        cv_pooled=central_interval(100.0 * np.sqrt(spreads / squares)),
        icc=central_interval(correlations[chosen]),
    )


def _log_likelihood(k: Counts, m: Counts, alpha: Rates, beta: Rates) -> Rates:
    """Of one context on the grid: cells of equal (k, m) are counted together."""
    cells, counts = np.unique(np.stack([k, m])[:, m > 0], axis=1, return_counts=True)
    total = np.zeros_like(alpha)
    for (x, n), count in zip(cells.T, counts, strict=True):
        ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
        total += count * (ways + betaln(x + alpha, n - x + beta) - betaln(alpha, beta))
    return total


def _normalised(logs: Rates) -> Rates:
    weights: Rates = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights


def _draw(weights: Rates, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """(draws,) an index a row, with the probabilities of that row."""
    cumulative = weights.cumsum(axis=1)
    below = cumulative < rng.random((len(weights), 1)) * cumulative[:, -1:]
    drawn: npt.NDArray[np.int64] = below.sum(axis=1)
    return drawn
