"""Normalisation statistics as openpi defines them: over training samples, each a state and a chunk of actions.

A sample is a frame and the `horizon` actions from there on; past the end of its demonstration the last action repeats.
The mean and standard deviation are those of all rows, the quantiles the left edges of 5,000 equal bins between smallest
and largest value. What does not fill a batch at the end is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbench.geometry import Array

BINS = 5000
#: Keeps the smallest and the largest value inside the bins.
MARGIN = 1e-10


@dataclass(frozen=True, eq=False)
class Episode:
    """States (n, d) and actions (n, e) of one demonstration."""

    states: Array
    actions: Array


def norm_stats(episodes: Sequence[Episode], horizon: int, batch: int, deltas: int) -> dict[str, Any]:
    """The content of openpi's `norm_stats.json`.

    Args:
        horizon: actions of a chunk.
        batch: samples of a batch.
        deltas: so many leading columns of the actions are made relative to the state of their sample.
    """
    chunks = np.concatenate([_chunks(episode, horizon, deltas) for episode in episodes])
    states = np.concatenate([episode.states for episode in episodes])
    samples = max(len(states) // batch, 1) * batch
    actions = chunks[:samples].reshape(-1, chunks.shape[-1])
    return {"norm_stats": {"state": _stats(states[:samples]), "actions": _stats(actions)}}


def _chunks(episode: Episode, horizon: int, deltas: int) -> Array:
    """(n, horizon, e) actions of every sample."""
    n = len(episode.actions)
    rows = np.minimum(np.arange(n)[:, None] + np.arange(horizon), n - 1)
    chunks = episode.actions[rows]
    chunks[:, :, :deltas] -= episode.states[:, None, :deltas]
    return np.asarray(chunks)


def _stats(rows: Array) -> dict[str, list[float]]:
    return {
        "mean": rows.mean(axis=0).tolist(),
        "std": rows.std(axis=0).tolist(),
        "q01": [_quantile(column, 0.01) for column in rows.T],
        "q99": [_quantile(column, 0.99) for column in rows.T],
    }


def _quantile(values: Array, share: float) -> float:
    edges = np.linspace(values.min() - MARGIN, values.max() + MARGIN, BINS + 1)
    counts, _ = np.histogram(values, bins=edges)
    return float(edges[np.searchsorted(np.cumsum(counts), share * len(values))])
