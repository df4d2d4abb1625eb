"""The surface that things stand on: its colour as it changes over the picture, and what stands out from it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Plane = npt.NDArray[np.float32]

#: Side (Lab units) of a histogram cell in which the dominant colour is looked for, and the radius around it that
#: still counts as surface: wide enough for a soft texture under uneven light.
_CELL = 4.0
_RADIUS = 14.0
#: Least deviation (Lab units) that counts as one unit of noise, for lightness and for the two colour axes.
#: Lightness varies more with the slope and texture of a surface than its colour does.
_LEAST_NOISE = (2.5, 1.2, 1.2)
#: A cast shadow darkens all three channels alike: the ratios to the lit surface lie in this range, and differ by no
#: more than this.
_SHADE = (0.35, 0.97)
_SHADE_SPREAD = 0.13


@dataclass(frozen=True, eq=False)
class Surface:
    """What was found of the surface.

    Attributes:
        contrast: (height, width), by how many units of its noise a pixel differs from the surface around it.
        shadow: pixels that look like the surface in shadow.
        share: share of the picture that is surface.
    """

    contrast: Plane
    shadow: Mask
    share: float


def find_surface(image: Image) -> Surface:
    """The dominant smooth surface of an RGB picture."""
    lab = to_lab(image)
    smooth = _smoothness(lab)
    peak = _dominant_color(lab, smooth)
    member = (np.linalg.norm(lab - peak, axis=2) < _RADIUS) & smooth
    local = _spread(lab, member)
    # Once more around the local colour: where light falls off, the dominant colour is not the local one.
    member = np.linalg.norm(lab - local, axis=2) < _RADIUS
    local = _spread(lab, member)
    noise = np.maximum(1.4826 * np.median(np.abs(lab - local)[member], axis=0), _LEAST_NOISE)
    contrast = np.linalg.norm((lab - local) / noise, axis=2)
    rgb = cv2.GaussianBlur(image, (0, 0), 0.8).astype(np.float32)
    return Surface(contrast.astype(np.float32), _shaded(rgb, _spread(rgb, member)), float(member.mean()))


def to_lab(image: Image) -> Plane:
    """CIE Lab (L 0..100) of a slightly smoothed RGB picture."""
    blurred = cv2.GaussianBlur(image, (0, 0), 0.8)
    return np.asarray(cv2.cvtColor(blurred.astype(np.float32) / 255.0, cv2.COLOR_RGB2LAB), dtype=np.float32)


def _smoothness(lab: Plane) -> Mask:
    """Pixels away from edges."""
    gradient = sum(np.abs(cv2.Sobel(lab[..., c], cv2.CV_32F, dx, 1 - dx)) for c in range(3) for dx in (0, 1))
    return np.asarray(gradient <= np.percentile(gradient, 85))


def _dominant_color(lab: Plane, smooth: Mask) -> Plane:
    """The mode of the colour distribution: the fullest 3 x 3 x 3 cells of a coarse histogram, averaged."""
    colors = lab[smooth]
    cells = np.floor((colors - (0, -128, -128)) / _CELL).astype(np.int64) + 1
    shape = (int(100 / _CELL) + 3, int(256 / _CELL) + 3, int(256 / _CELL) + 3)
    histogram = np.bincount(np.ravel_multi_index(tuple(cells.T), shape), minlength=int(np.prod(shape))).reshape(shape)
    fullest = np.array(np.unravel_index(int(np.argmax(histogram)), shape))
    near = (np.abs(cells - fullest) <= 1).all(axis=1)
    return np.asarray(colors[near].mean(axis=0), dtype=np.float32)


def _spread(values: Plane, member: Mask) -> Plane:
    """The members' mean in a wide neighbourhood of every pixel; far from any, the mean of all."""
    height, width = member.shape
    weight = member.astype(np.float32)
    # A small picture is enough for something this smooth.
    size = (max(8, width // 8), max(8, height // 8))
    small = cv2.resize(weight, size, interpolation=cv2.INTER_AREA)
    sums = cv2.resize(values * weight[..., None], size, interpolation=cv2.INTER_AREA)
    sigma = max(size) / 10.0
    below = cv2.GaussianBlur(small, (0, 0), sigma)[..., None]
    above = cv2.GaussianBlur(sums, (0, 0), sigma)
    mean = values[member].mean(axis=0)
    local = (above + 1e-3 * mean) / (below + 1e-3)
    return np.asarray(cv2.resize(local, (width, height), interpolation=cv2.INTER_LINEAR), dtype=np.float32)


def _shaded(rgb: Plane, surface: Plane) -> Mask:
    ratio = rgb / np.maximum(surface, 1.0)
    low, high = ratio.min(axis=2), ratio.max(axis=2)
    return np.asarray((high - low < _SHADE_SPREAD) & (low > _SHADE[0]) & (high < _SHADE[1]))
