"""Statistics of data sets: exact, over all frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: The quantiles that LeRobot 3.0 keeps, by their names there.
QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}

Stats = dict[str, Any]


def number_stats(values: npt.NDArray[Any], quantiles: bool = False) -> Stats:
    """min, max, mean, std, count and perhaps quantiles of rows (n, d) or of n numbers, for each of the d columns."""
    rows = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    stats = {"min": rows.min(axis=0), "max": rows.max(axis=0), "mean": rows.mean(axis=0), "std": rows.std(axis=0)}
    if quantiles:
        stats |= {name: np.quantile(rows, q, axis=0) for name, q in QUANTILES.items()}
    return {**{name: array.tolist() for name, array in stats.items()}, "count": [len(rows)]}


def histogram(pictures: npt.NDArray[np.uint8]) -> list[list[int]]:
    """How often every value 0 .. 255 occurs in each channel of pictures (n, height, width, 3)."""
    return [np.bincount(pictures[..., channel].ravel(), minlength=256).tolist() for channel in range(3)]


def picture_stats(histograms: Sequence[Sequence[Sequence[int]]], frames: int, quantiles: bool = False) -> Stats:
    """The same of pictures, from their histograms: each channel on [0, 1], shape (3, 1, 1); count is of frames."""
    counts = np.sum(np.asarray(histograms, dtype=np.int64), axis=0)
    values = np.arange(256) / 255.0
    totals = counts.sum(axis=1)
    mean = counts @ values / totals
    found = {
        "min": [values[np.flatnonzero(row)[0]] for row in counts],
        "max": [values[np.flatnonzero(row)[-1]] for row in counts],
        "mean": mean,
        "std": np.sqrt(np.maximum(counts @ values**2 / totals - mean**2, 0.0)),
    }
    if quantiles:
        cumulated = np.cumsum(counts, axis=1)
        for name, q in QUANTILES.items():
            found[name] = [values[np.searchsorted(row, q * row[-1])] for row in cumulated]
    return {**{name: [[[float(v)]] for v in three] for name, three in found.items()}, "count": [frames]}
