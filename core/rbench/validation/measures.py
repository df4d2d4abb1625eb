"""What is measured in the pictures of one camera: pure functions of arrays, rounded so that equal pictures agree.

Shapes: masks are (height, width) bool, depth (height, width) m, CIELAB (height, width, 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rbench.geometry import Array
from rbench.observation import Intrinsics
from rbench.validation.color_difference import ciede2000

Mask = npt.NDArray[np.bool_]

#: The surroundings of an object begin so many pixels from it, where smoothed edges have ended, and end so many from it.
RING = (2, 8)
#: Normals closer together than this (degrees) belong to one face, farther apart than that to different ones.
SAME_FACE, OTHER_FACE = 15.0, 25.0
#: A group of pixels that face one way is a face when it has this share of the body.
LEAST_FACE = 0.05
#: Of larger objects every n-th pixel is looked at, so that there are about so many.
PIXELS = 1500
#: Shares and differences have so many decimals.
_DECIMALS = 3

_SQUARE = np.ones((3, 3), dtype=bool)


@dataclass(frozen=True)
class Extent:
    """How much of a body is seen.

    Attributes:
        visible: share of the pixels that it would have if nothing stood before it (inside the picture), 0 to 1.
        width: of what is seen, the narrower side of the box around it (px).
        cut_off: it reaches the edge of the picture, or lies outside.
        pixels: how many are seen.
    """

    visible: float
    width: int
    cut_off: bool
    pixels: int


def extent(seen: Mask, alone: Mask) -> Extent:
    """How much of a body is seen.

    Args:
        seen: its visible pixels. alone: those that it would have if nothing else were there.
    """
    whole, pixels = int(alone.sum()), int(seen.sum())
    # From behind, where a camera is inside of something, a body may show that alone would not.
    visible = min(1.0, pixels / whole) if whole else 0.0
    edge = bool(alone[[0, -1]].any() or alone[:, [0, -1]].any())
    return Extent(round(visible, _DECIMALS), narrower_side(seen), edge or not whole, pixels)


def narrower_side(mask: Mask) -> int:
    """The narrower side of the box around a mask (px); 0 when it is empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(min(np.ptp(rows), np.ptp(columns))) + 1 if rows.size else 0


def share_near(nearness: npt.NDArray[np.float32], near: float) -> float:
    """Share of the picture that something nearer than `near` (m) fills."""
    return round(float((nearness < near).mean()), _DECIMALS)


def lightness_spread(lab: Array) -> float:
    """Between the darkest and the lightest hundredth of a picture (L*)."""
    low, high = np.percentile(lab[..., 0], (1, 99))
    return round(float(high - low), _DECIMALS)


def inside(mask: Mask) -> Mask:
    """The mask without its outermost pixels, which show a mixture; of one that has no others, the mask."""
    inner: Mask = ndimage.binary_erosion(mask, _SQUARE)
    return inner if inner.any() else mask


def surroundings(seen: Mask) -> Mask:
    """The pixels around what is seen of a body."""
    near, far = (ndimage.binary_dilation(seen, _SQUARE, iterations=n) for n in RING)
    ring: Mask = far & ~near
    return ring


def contrast(lab: Array, body: Mask, other: Mask) -> float:
    """How much a body differs from something else in the picture (CIEDE2000); 0 when one of them is not seen.

    The lower quartile of the differences of its pixels from the other's typical colour (median of L*, a*, b*): so much
    or more differ three quarters of it. The difference of the means would pass a body of which half cannot be told
    from the table because the other half lies in shade.
    """
    if not body.any() or not other.any():
        return 0.0
    differences = ciede2000(lab[body], np.median(lab[other], axis=0))
    return round(float(np.percentile(differences, 25)), _DECIMALS)


def color_distance(lab: Array, body: Mask, other: Mask) -> float:
    """Between the mean colours of two parts of a picture (CIEDE2000); 0 when one of them is not seen."""
    if not body.any() or not other.any():
        return 0.0
    return round(float(ciede2000(lab[body].mean(axis=0), lab[other].mean(axis=0))), _DECIMALS)


@dataclass(frozen=True, eq=False)
class Form:
    """Which way the visible pixels of a body face.

    Attributes:
        faces: the pixels of each group that faces one way, the largest first.
        aside: the pixels that face another way than the largest group; a curved side gives no groups, but these.
        turned: their share of all pixels, 0 to 1.
    """

    faces: tuple[Mask, ...]
    aside: Mask
    turned: float


def form(seen: Mask, depth: npt.NDArray[np.float32], intrinsics: Intrinsics) -> Form:
    """Which way the visible pixels of a body face, from its depth."""
    normals, known = _normals(seen, depth, intrinsics)
    places, left = np.argwhere(known), normals[known]
    total = len(places)
    faces: list[Mask] = []
    aside, turned = np.zeros_like(seen), 0.0
    while len(places) and len(places) >= LEAST_FACE * total:
        toward = left @ _commonest(left)
        if not faces:
            others = toward < np.cos(np.radians(OTHER_FACE))
            aside[tuple(places[others].T)] = True
            turned = float(others.mean())
        like = toward > np.cos(np.radians(SAME_FACE))
        if like.sum() < LEAST_FACE * total:
            break
        mask = np.zeros_like(seen)
        mask[tuple(places[like].T)] = True
        faces.append(mask)
        places, left = places[~like], left[~like]
    return Form(tuple(faces), aside, round(turned, _DECIMALS))


def shading(lab: Array, found: Form) -> float:
    """The largest difference between two faces of a body, or one and what is turned aside (CIEDE2000 of the means)."""
    parts = [*found.faces, found.aside] if found.turned else found.faces
    means = np.array([lab[part].mean(axis=0) for part in parts]).reshape(-1, 3)
    differences = ciede2000(means[:, None], means[None])
    return round(float(differences.max(initial=0.0)), _DECIMALS)


def _commonest(normals: Array) -> Array:
    """The normal that most others are like; of equals the first."""
    sample = normals[:: max(1, len(normals) // PIXELS)]
    like = (sample @ sample.T > np.cos(np.radians(SAME_FACE))).sum(axis=1)
    return np.asarray(sample[int(like.argmax())])


def _normals(seen: Mask, depth: npt.NDArray[np.float32], intrinsics: Intrinsics) -> tuple[Array, Mask]:
    """Unit normals (height, width, 3) in the camera's frame, and where they are known: all four neighbours are seen."""
    rows, columns = np.indices(seen.shape)
    z = np.where(seen, depth, 0.0).astype(np.float64)
    points = np.stack(
        [(columns - intrinsics.cx) * z / intrinsics.fx, (rows - intrinsics.cy) * z / intrinsics.fy, z], axis=-1
    )
    known: Mask = ndimage.binary_erosion(seen, ndimage.generate_binary_structure(2, 1))
    right = np.roll(points, -1, axis=1) - np.roll(points, 1, axis=1)
    down = np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0)
    normals = np.cross(right, down)
    length = np.linalg.norm(normals, axis=-1)
    known &= length > 0
    normals[known] /= length[known][:, None]
    return normals, known
