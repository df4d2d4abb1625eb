"""Intervals of pooled success rates, and how much repeats differ inside cells."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

Counts = npt.NDArray[np.int64]


def pooled_rate_interval(successes: Counts, episodes: Counts, confidence: float = 0.95) -> tuple[float, float] | None:
    """Interval of sum(successes) / sum(episodes), from blocks as the independent units.

    Repeats share their jitter over all levels, so the episodes of a block (context, repeat) stand
    and fall together; an interval that takes them as independent covers 15 to 83 % instead of 95 %.
    Student's t over blocks, from their spread inside contexts: the contexts are those of the design, and that they
    differ is no uncertainty. Residuals are weighted by block size; clipped to [0, 1]. Where a context has a single
    block, the spread of all blocks is taken. When blocks show no spread, or there is one: Wilson, with one
    observation a block.

    Args:
        successes: (contexts, repeats).
        episodes: (contexts, repeats); blocks without any are left out.
        confidence: 0..1.
    """
    blocks, total = int((episodes > 0).sum()), int(episodes.sum())
    if blocks == 0:
        return None
    rate = float(successes.sum()) / total
    used = episodes[episodes.any(axis=1)], successes[episodes.any(axis=1)]
    if ((used[0] > 0).sum(axis=1) < 2).any():
        used = used[0].reshape(1, -1), used[1].reshape(1, -1)
    n, k = (values.astype(float) for values in used)
    count = (n > 0).sum(axis=1)
    residuals = k - k.sum(axis=1, keepdims=True) / n.sum(axis=1, keepdims=True) * n
    freedom = int((count - 1).sum())
    if freedom == 0 or float(np.abs(residuals).max()) < 1e-9:
        return wilson_interval(rate, blocks, confidence)
    variance = float((count / np.maximum(count - 1, 1) * (residuals**2).sum(axis=1)).sum()) / total**2
    half = float(stdtrit(freedom, 0.5 + confidence / 2)) * math.sqrt(variance)
    return max(0.0, rate - half), min(1.0, rate + half)


def central_interval(values: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """The middle 95 % of random draws; None when there are none."""
    if not len(values):
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def wilson_interval(rate: float, count: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a rate seen over `count` independent observations."""
    z = float(ndtri(0.5 + confidence / 2))
    scale = 1 + z * z / count
    centre = (rate + z * z / (2 * count)) / scale
    half = z * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count)) / scale
    # At 0 and 1 the bound is exactly that; rounding would miss it by a bit.
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return low, high


def within_cell_dispersion(successes: Counts, episodes: Counts) -> float | None:
    """Variance of outcomes inside cells, relative to coin flips with the success rate of the context.

    About 1: repeats of a cell differ as much as any two episodes of its context. 0: no cell has both a
    success and a failure, so repeats add nothing (deterministic repeats, or every cell all or none).
    None when no cell has two repeats, or no context has both outcomes.

    Args:
        successes: (contexts, cells).
        episodes: (contexts, cells).
    """
    k, n = successes.astype(float), episodes.astype(float)
    repeated = n >= 2
    k, n = np.where(repeated, k, 0.0), np.where(repeated, n, 0.0)
    # Unbiased variance of a Bernoulli variable from k of n: k (n - k) / (n (n - 1)).
    observed = (k * (n - k) / np.maximum(n * (n - 1), 1)).sum()
    context_k, context_n = k.sum(axis=1), n.sum(axis=1)
    variance = context_k * (context_n - context_k) / np.maximum(context_n * (context_n - 1), 1)
    expected = (variance * repeated.sum(axis=1)).sum()
    return float(observed / expected) if expected > 0 else None
