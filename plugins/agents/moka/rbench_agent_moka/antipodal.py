"""Pairs of opposite edges in a depth image, between which a parallel gripper can close.

The published sampler, on an array: edges are where depth changes fast, their normals point where it grows; two edges
make a grasp when their normals oppose each other, lie in the friction cone about the line between them, and are no
farther apart than the gripper opens.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from rbench.geometry import Array

#: Published: friction coefficient, pairs looked at, grasps kept, least distance between grasps (cells + rad).
_FRICTION, _MOST_PAIRS, _MOST_GRASPS, _LEAST_DISTANCE = 1.0, 8000, 50, 8.0


@dataclass(frozen=True)
class Sampling:
    """Sizes, in cells of the array unless they say otherwise.

    Attributes:
        width: how far the gripper opens.
        gradient: change of depth (m) from cell to cell above which there is an edge.
        downsample: cells a side that are made one before edges are looked at.
        border: grasps nearer to the border of the array are refused.
    """

    width: float
    gradient: float = 0.001
    downsample: int = 4
    border: float = 25.0


@dataclass(frozen=True)
class Pair:
    """Where the fingers close: two positions (x, y) in cells."""

    first: tuple[float, float]
    second: tuple[float, float]

    @property
    def center(self) -> tuple[float, float]:
        """The middle between them."""
        return ((self.first[0] + self.second[0]) / 2, (self.first[1] + self.second[1]) / 2)

    @property
    def angle(self) -> float:
        """Of the line between them, rad from the x axis."""
        return float(np.arctan2(self.second[1] - self.first[1], self.second[0] - self.first[0]))


def sample_pairs(depth: Array, sampling: Sampling, rng: np.random.Generator) -> list[Pair]:
    """Grasps in a depth image (height, width), m; empty when there are none, which is an ordinary outcome."""
    side = sampling.downsample
    rows, columns = depth.shape[0] // side, depth.shape[1] // side
    if rows < 3 or columns < 3:
        return []
    slope = np.hypot(*np.gradient(depth))
    flat = np.where(slope > sampling.gradient, 0.0, depth)
    cells = flat[: rows * side, : columns * side].reshape(rows, side, columns, side).min(axis=(1, 3))
    edges = np.argwhere(cells == 0.0)
    coarse = cv2.resize(depth[: rows * side, : columns * side], (columns, rows), interpolation=cv2.INTER_AREA)
    down, right = np.gradient(coarse)
    normals = np.stack([right, down], axis=-1)[edges[:, 0], edges[:, 1]]
    length = np.linalg.norm(normals, axis=1)
    positions = (edges[length > 0][:, ::-1] + 0.5) * side
    normals = normals[length > 0] / length[length > 0, None]
    pairs = _opposing(positions, normals, sampling.width, rng)
    return _spread_out(pairs, depth, flat, sampling)


def _opposing(positions: Array, normals: Array, width: float, rng: np.random.Generator) -> list[Pair]:
    cone = np.cos(np.arctan(_FRICTION))
    i, j = np.triu_indices(len(positions), 1)
    opposed = (normals[i] * normals[j]).sum(axis=1) < -cone
    away = np.linalg.norm(positions[i] - positions[j], axis=1)
    near = np.flatnonzero(opposed & (away < width) & (away > 0))
    near = rng.permutation(near)[:_MOST_PAIRS]
    i, j, away = i[near], j[near], away[near]
    line = (positions[i] - positions[j]) / away[:, None]
    inside = ((normals[i] * line).sum(axis=1) > cone) & ((-normals[j] * line).sum(axis=1) > cone)
    return [
        Pair((float(a[0]), float(a[1])), (float(b[0]), float(b[1])))
        for a, b in zip(positions[i[inside]], positions[j[inside]], strict=True)
    ]


def _spread_out(pairs: list[Pair], depth: Array, flat: Array, sampling: Sampling) -> list[Pair]:
    """The first of the pairs that are neither near the border nor near one another, on something flat."""
    height, width = depth.shape
    kept: list[Pair] = []
    for pair in pairs:
        x, y = pair.center
        if min(x, y, width - x, height - y) < sampling.border or flat[int(y), int(x)] == 0.0:
            continue
        if all(_distance(pair, other) >= _LEAST_DISTANCE for other in kept):
            kept.append(pair)
        if len(kept) == _MOST_GRASPS:
            break
    return kept


def _distance(a: Pair, b: Pair) -> float:
    turn = abs(a.angle - b.angle) % np.pi
    return float(np.hypot(a.center[0] - b.center[0], a.center[1] - b.center[1]) + min(turn, np.pi - turn))
