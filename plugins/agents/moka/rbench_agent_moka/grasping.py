"""Where and how the gripper closes: proposals, the choice among them, and what is done without any."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from rbench.geometry import Array, Quaternion, matrix_quaternion
from rbench_agent_moka.antipodal import Sampling, sample_pairs
from rbench_agent_moka.failures import GaveUp
from rbench_agent_moka.keypoints import Outline
from rbench_agent_moka.lifting import Body, lift
from rbench_agent_moka.options import Options
from rbench_agent_moka.sight import Sight

#: How far the gripper opens, m (published: 0.07, of another gripper).
OPENING = 0.08
#: A proposal farther than this from the chosen keypoint is not what was meant: published, in pixels; here in metres,
#: about as much at the distance of the published camera.
_FAR_PIXELS, _FAR = 80.0, 0.12
#: Published: pixels around the object's box that the sampler looks at, metres of depth by which the width of the
#: gripper is projected behind what it sees.
_AROUND, _BEHIND = 10, 0.015
#: The published sampler on a map of heights seen from above, where a cell is this wide (m) whatever the camera: edges
#: steeper than 60 degrees, coarser by half, and no border, because the map ends where nothing is seen any more.
_CELL = 0.001
_FROM_ABOVE = Sampling(width=OPENING / _CELL, gradient=math.tan(math.radians(60)) * _CELL, downsample=2, border=0.0)
#: Map around the object, m; openings in what is seen of it that are closed.
_MARGIN, _GAP = 0.02, 0.006
#: Sides this alike are those of a square: the gripper closes across the one that it needs to turn less for.
_SQUARE = 1.25
#: Share of a thing's outermost points that may be stray.
_STRAY = 0.01
#: Fingers in line with the base frame's y axis, as at home.
HOME_ANGLE = -math.pi / 2


@dataclass(frozen=True, eq=False)
class Grasp:
    """A grasp from straight above.

    Attributes:
        surface: (3,) the point on the object's surface at its middle, m. angle: of the line between the fingers, rad
            about the vertical from the base frame's x axis, in (-pi, 0].
        how: `mask_pca`, `antipodal` or `fallback`.
    """

    surface: Array
    angle: float
    how: Literal["mask_pca", "antipodal", "fallback"]


def pointing_down(angle: float) -> Quaternion:
    """The hand with its z axis straight down and its fingers in line with a direction (rad)."""
    c, s = math.cos(angle), math.sin(angle)
    return matrix_quaternion([[-s, c, 0.0], [c, s, 0.0], [0.0, 0.0, -1.0]])


def grasp_at(
    sight: Sight, thing: Outline, body: Body, chosen: int, options: Options, rng: np.random.Generator
) -> Grasp:
    """The proposal nearest to the chosen keypoint, or the fallback: at the keypoint, across the picture.

    Raises:
        GaveUp: `no_depth`.
    """
    keypoint = thing.keypoints[chosen]
    point = lift(sight, keypoint)
    if options.mode == "paper" and options.grasping == "antipodal":
        return _as_published(sight, thing, keypoint, rng) or _fallback(sight, point)
    proposals = [_across_short_side(body)] if options.grasping == "mask_pca" else _seen_from_above(body, rng)
    # The keypoint is meant: mark 1 is the middle of the thing, not the point on the near face that hides it.
    meant = body.middle if chosen == 0 else point[:2]
    near = min(proposals, key=lambda grasp: float(np.linalg.norm(grasp.surface[:2] - meant)), default=None)
    if near is None or np.linalg.norm(near.surface[:2] - meant) > _FAR:
        return _fallback(sight, point)
    return near


def _across_short_side(body: Body) -> Grasp:
    """In the middle of the top, across the short side of the least rectangle around what is seen, from above."""
    flat = body.points[:, :2]
    away = np.linalg.norm(flat - body.middle, axis=1)
    flat = flat[away <= np.quantile(away, 1.0 - _STRAY)]
    rectangle = cv2.minAreaRect(((flat - body.middle) / _CELL).astype(np.float32))
    (_, (first, second), degrees) = rectangle
    along_first = math.radians(degrees)
    angles = {_near_home(along_first): first, _near_home(along_first + math.pi / 2): second}
    least = min(angles.values())
    fitting = [angle for angle, width in angles.items() if width <= _SQUARE * least]
    angle = min(fitting, key=lambda a: abs(a - HOME_ANGLE))
    return Grasp(np.array([*body.middle, body.top]), angle, "mask_pca")


def _seen_from_above(body: Body, rng: np.random.Generator) -> list[Grasp]:
    """The published sampler on a map of heights: the same whatever the camera."""
    low = body.points[:, :2].min(axis=0) - _MARGIN
    size = np.ceil((body.points[:, :2].max(axis=0) + _MARGIN - low) / _CELL).astype(int) + 1
    heights = np.zeros((size[1], size[0]), dtype=np.float32)
    x, y = ((body.points[:, :2] - low) / _CELL).astype(int).T
    np.maximum.at(heights, (y, x), (body.points[:, 2] - body.table).astype(np.float32))
    closing = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (int(_GAP / _CELL) | 1,) * 2)
    heights = np.asarray(cv2.morphologyEx(heights, cv2.MORPH_CLOSE, closing), dtype=np.float32)
    depth = 1.0 - heights.astype(np.float64)  # from a camera a metre above the table
    grasps = []
    for pair in sample_pairs(depth, _FROM_ABOVE, rng):
        column, row = pair.center
        top = body.table + float(heights[int(row), int(column)])
        place = low + np.array(pair.center) * _CELL
        grasps.append(Grasp(np.array([*place, top]), _near_home(pair.angle), "antipodal"))
    return grasps


def _as_published(sight: Sight, thing: Outline, keypoint: Array, rng: np.random.Generator) -> Grasp | None:
    """On the depth image around the object's box, in pixels: small objects lie in the border and get none."""
    height, width = sight.size
    x1, y1, x2, y2 = (int(v) for v in thing.box)
    left, top = max(0, x1 - _AROUND), max(0, y1 - _AROUND)
    depth = sight.depth[top : min(height, y2 + _AROUND), left : min(width, x2 + _AROUND)]
    if not depth.size or not depth.max() > 0:
        raise GaveUp("no_depth")
    focal = float(np.median(sight.depth[sight.depth > 0] / sight.footprint[sight.depth > 0]))
    pairs = sample_pairs(depth, Sampling(width=OPENING * focal / (float(depth.max()) + _BEHIND)), rng)
    offset = np.array([left, top])
    near = min(pairs, key=lambda pair: float(np.linalg.norm(pair.center + offset - keypoint)), default=None)
    if near is None or np.linalg.norm(near.center + offset - keypoint) > _FAR_PIXELS:
        return None
    return Grasp(lift(sight, near.center + offset), _in_base(sight, near.angle), "antipodal")


def _fallback(sight: Sight, point: Array) -> Grasp:
    return Grasp(point, _in_base(sight, 0.0), "fallback")


def _in_base(sight: Sight, angle: float) -> float:
    """The direction about the vertical of a line in the picture."""
    x, y, _ = sight.extrinsics[:3, :3] @ np.array([math.cos(angle), math.sin(angle), 0.0])
    return _near_home(math.atan2(y, x))


def _near_home(angle: float) -> float:
    """The same line as an angle in (-pi, 0]: fingers are alike, so half a turn makes no difference."""
    return -((-angle) % math.pi)
