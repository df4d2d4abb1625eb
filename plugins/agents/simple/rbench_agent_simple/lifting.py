"""From boxes in the picture to points in the robot's frame, through the depth image.

The published policy takes the centre pixel of a box and the median depth over the central half of the box. That
point lies on the near face of a thing, up to half a thing's size off its middle. Here it is only the seed: the
patch of surface around it that hangs together in space and stands above the table is taken for the thing, and the
middle of the patch's highest part for the middle of the thing seen from above. That holds for upright prisms,
cylinders, pyramids and boxes with a rim, whatever the view, as long as most of the top can be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rbench.geometry import Array, Vec3, vec3
from rbench.observation import Intrinsics

Mask = npt.NDArray[np.bool_]
Box4 = tuple[float, float, float, float]

#: Nothing lower than this (m) above the table belongs to a thing that stands on it.
_ABOVE_TABLE = 0.004
#: The highest part of a thing: the upper share of its height, at least so many metres of it.
_TOP_SHARE, _TOP_LEAST = 0.12, 0.003
#: Neighbouring pixels hang together when their points are no farther apart than so many pixel footprints, or this (m).
_FOOTPRINTS, _GAP = 4.0, 0.006
#: Share of a thing's outermost points that may be stray.
_STRAY = 0.01


class NoDepth(Exception):
    """The depth image holds nothing at the place of the box."""


@dataclass(frozen=True)
class Lifted:
    """A thing in the robot base frame, metres.

    Attributes:
        surface: the point on its near face that the published policy takes.
        top: the middle of its highest part. table: height of the table beside it.
    """

    surface: Vec3
    top: Vec3
    table: float

    def point(self, lift: Literal["depth", "surface", "two_point"]) -> Vec3:
        """Where the policy reaches for it."""
        return self.surface if lift == "surface" else self.top


class Cloud:
    """The points of a depth image in the robot base frame.

    Attributes:
        points: (height, width, 3) metres. valid: where there is depth. footprint: side (m) of what a pixel covers.
    """

    def __init__(self, depth: npt.NDArray[np.float32], intrinsics: Intrinsics, extrinsics: Array) -> None:
        """Lift every pixel.

        Args:
            depth: (height, width) metres along the optical axis.
            extrinsics: camera-to-base (4, 4), OpenCV convention.
        """
        self._intrinsics, self._extrinsics = intrinsics, extrinsics
        self.valid: Mask = np.isfinite(depth) & (depth > 0)
        self.depth: Array = np.where(self.valid, depth, 0.0).astype(np.float64)
        self.footprint: Array = self.depth / intrinsics.fx
        v, u = np.mgrid[0 : depth.shape[0], 0 : depth.shape[1]]
        self.points = self.lift(np.stack([u, v], axis=-1), self.depth)

    def lift(self, pixels: npt.ArrayLike, depth: npt.ArrayLike) -> Array:
        """Points (..., 3) of pixels (..., 2), given as (u, v) with centres at whole numbers, at some depth (...)."""
        local = self._intrinsics.rays(pixels) * np.asarray(depth)[..., None]
        return np.asarray(local @ self._extrinsics[:3, :3].T + self._extrinsics[:3, 3])


def lifted(cloud: Cloud, box: Box4) -> Lifted:
    """Lift a box (x1, y1, x2, y2; pixel edges).

    Raises:
        NoDepth: no depth in the box.
    """
    inside = _window(cloud, box, 1.0)
    seed = _seed(cloud, box)
    table = _table_height(cloud, _window(cloud, box, 2.0), inside, float(seed[2]))
    patch = _patch(cloud, inside, seed, table)
    points = cloud.points[inside][patch]
    if not len(points):
        return Lifted(vec3(seed), vec3(seed), table)
    high = float(np.quantile(points[:, 2], 1.0 - _STRAY))
    part = points[points[:, 2] > high - max(_TOP_LEAST, _TOP_SHARE * (high - table))]
    low_xy, high_xy = np.quantile(part[:, :2], [_STRAY, 1.0 - _STRAY], axis=0)
    x, y = (low_xy + high_xy) / 2
    return Lifted(vec3(seed), (float(x), float(y), high), table)


def _window(cloud: Cloud, box: Box4, scale: float) -> tuple[slice, slice]:
    """Rows and columns of the pixels in a box scaled about its centre."""
    height, width = cloud.valid.shape
    x1, y1, x2, y2 = box
    half_x, half_y = scale * (x2 - x1) / 2, scale * (y2 - y1) / 2
    cx, cy = (x1 + x2) / 2, (y1 + y2) / 2
    left, right = max(0, round(cx - half_x)), min(width, max(round(cx + half_x), round(cx - half_x) + 1))
    upper, lower = max(0, round(cy - half_y)), min(height, max(round(cy + half_y), round(cy - half_y) + 1))
    return slice(upper, lower), slice(left, right)


def _seed(cloud: Cloud, box: Box4) -> Array:
    """The point behind the middle of the box at the median depth over the central half of the box."""
    rows, columns = _window(cloud, box, 0.5)
    depth = cloud.depth[rows, columns][cloud.valid[rows, columns]]
    if not depth.size:
        raise NoDepth
    x1, y1, x2, y2 = box
    # Boxes are measured at pixel edges, rays at pixel centres.
    return cloud.lift(((x1 + x2 - 1) / 2, (y1 + y2 - 1) / 2), np.median(depth))


def _table_height(cloud: Cloud, around: tuple[slice, slice], inside: tuple[slice, slice], below: float) -> float:
    """Height of the table around a box: the commonest height that is not above the thing."""
    outside = cloud.valid.copy()
    outside[inside] = False
    heights = cloud.points[..., 2][around][outside[around]]
    heights = heights[heights < below + _ABOVE_TABLE]
    if not len(heights):
        return below - 0.02
    cells = np.round(heights / _ABOVE_TABLE).astype(np.int64)
    values, counts = np.unique(cells, return_counts=True)
    common = values[int(np.argmax(counts))] * _ABOVE_TABLE
    return float(np.median(heights[np.abs(heights - common) <= _ABOVE_TABLE]))


def _patch(cloud: Cloud, inside: tuple[slice, slice], seed: Array, table: float) -> Mask:
    """The pixels of a box that hang together with its seed, above the table."""
    points = cloud.points[inside]
    above = cloud.valid[inside] & (points[..., 2] > table + _ABOVE_TABLE)
    if not above.any():
        return above
    reach = np.maximum(_FOOTPRINTS * cloud.footprint[inside], _GAP)
    down = _near(points[1:], points[:-1], reach[1:]) & above[1:] & above[:-1]
    right = _near(points[:, 1:], points[:, :-1], reach[:, 1:]) & above[:, 1:] & above[:, :-1]
    distance = np.where(above, np.linalg.norm(points - seed, axis=-1), np.inf)
    patch = np.zeros_like(above)
    patch[np.unravel_index(int(np.argmin(distance)), distance.shape)] = True
    size = 0
    while size != (size := int(patch.sum())):
        before = patch.copy()
        patch[1:] |= before[:-1] & down
        patch[:-1] |= before[1:] & down
        patch[:, 1:] |= before[:, :-1] & right
        patch[:, :-1] |= before[:, 1:] & right
    return patch


def _near(a: Array, b: Array, reach: Array) -> Mask:
    return np.asarray(np.linalg.norm(a - b, axis=-1) < reach)
