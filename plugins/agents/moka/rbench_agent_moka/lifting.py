"""From positions in the picture to points in the robot's frame, and what the points of a thing say about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbench.geometry import Array
from rbench_agent_moka.failures import GaveUp
from rbench_agent_moka.sight import Mask, Sight

#: Half the side (pixels) of the window that is searched where a pixel has no depth.
_SEARCH = 2
#: Nothing lower than this (m) above the table belongs to a thing that stands on it.
_ABOVE_TABLE = 0.004
#: The highest part of a thing: the upper share of its height, at least so many metres of it.
_TOP_SHARE, _TOP_LEAST = 0.12, 0.003
#: Share of a thing's outermost points that may be stray.
_STRAY = 0.01
#: The table beside a thing: a window so many times its size, and the share of the heights in it that is table.
_WINDOW, _TABLE_SHARE = 2.0, 0.3


def lift(sight: Sight, position: Array) -> Array:
    """The point (3,) seen at a position (x, y) of the picture, m.

    Raises:
        GaveUp: `no_depth`: neither that pixel nor those around it have any.
    """
    height, width = sight.size
    column, row = (int(np.clip(v, 0, side - 1)) for v, side in zip(position, (width, height), strict=True))
    point = sight.points[row, column]
    if np.isfinite(point).all():
        return np.asarray(point)
    rows, columns = (slice(max(0, v - _SEARCH), v + _SEARCH + 1) for v in (row, column))
    near = sight.points[rows, columns].reshape(-1, 3)
    near = near[np.isfinite(near).all(axis=1)]
    if not len(near):
        raise GaveUp("no_depth")
    return np.asarray(np.median(near, axis=0))


@dataclass(frozen=True, eq=False)
class Body:
    """The points of a thing.

    Attributes:
        points: (n, 3) above the table. table: height of the table beside it. top: of its highest part.
        middle: (2,) x, y of the middle of its highest part: of its top, its tip or its rim.
    """

    points: Array
    table: float
    top: float
    middle: Array

    @property
    def height(self) -> float:
        """Above the table, m."""
        return self.top - self.table


def body_of(sight: Sight, mask: Mask, others: Mask) -> Body:
    """What the points in a mask say.

    Args:
        others: pixels of other things, which are not table.

    Raises:
        GaveUp: `no_depth`.
    """
    table = _table(sight, mask, others)
    points = sight.points[mask]
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points) or not np.isfinite(table):
        raise GaveUp("no_depth")
    standing = points[points[:, 2] > table + _ABOVE_TABLE]
    points = standing if len(standing) else points
    top = float(np.quantile(points[:, 2], 1.0 - _STRAY))
    part = points[points[:, 2] > top - max(_TOP_LEAST, _TOP_SHARE * (top - table))]
    low, high = np.quantile(part[:, :2], [_STRAY, 1.0 - _STRAY], axis=0)
    return Body(points, min(table, top), top, (low + high) / 2)


def _table(sight: Sight, mask: Mask, others: Mask) -> float:
    """The height of the surface around a mask; NaN when nothing is seen there."""
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    spans = []
    for found, side in ((rows, height), (columns, width)):
        middle, half = (found.min() + found.max()) / 2, _WINDOW * (found.max() - found.min() + 1) / 2
        spans.append(slice(max(0, int(middle - half)), min(side, int(middle + half) + 1)))
    window = tuple(spans)
    heights = sight.points[window][..., 2][~(mask | others)[window]]
    heights = heights[np.isfinite(heights)]
    return float(np.quantile(heights, _TABLE_SHARE)) if len(heights) else float("nan")
