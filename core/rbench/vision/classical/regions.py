"""Regions that stand out from the surface, and what tells an open box, a small solid and the rest apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from rbench.vision.classical.surface import Mask


@dataclass(frozen=True, eq=False)
class Region:
    """A connected region.

    Attributes:
        mask: its pixels. area: how many.
        box: (x1, y1, x2, y2) at pixel edges.
        solidity: its area over that of its convex hull, 0..1.
        sides: how many sides of the picture it touches.
    """

    mask: Mask
    area: int
    box: tuple[int, int, int, int]
    solidity: float
    sides: int


def regions(mask: Mask, least: int) -> list[Region]:
    """The connected regions of at least `least` pixels, largest first."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=4)
    areas = stats[1:count, cv2.CC_STAT_AREA]
    order = sorted((i for i in range(count - 1) if areas[i] >= least), key=lambda i: (-int(areas[i]), i))
    return [_region(labels, stats[i + 1], i + 1) for i in order]


def _region(labels: npt.NDArray[Any], stats: npt.NDArray[Any], label: int) -> Region:
    x, y, width, height, area = (int(v) for v in stats)
    mask = labels == label
    tall, wide = labels.shape
    sides = sum((x == 0, y == 0, x + width == wide, y + height == tall))
    contours, _ = cv2.findContours(
        mask[y : y + height, x : x + width].astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE
    )
    outline = np.concatenate(contours)
    hull = cv2.convexHull(outline)
    # A contour runs through pixel centres: half a pixel more all around is what the pixels cover.
    covered = cv2.contourArea(hull) + cv2.arcLength(hull, True) / 2 + 1
    return Region(mask, area, (x, y, x + width, y + height), min(1.0, area / covered), sides)


def opened(mask: Mask, radius: float) -> Mask:
    """The mask without parts thinner than twice the radius."""
    size = 2 * max(1, round(radius)) + 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    return np.asarray(cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, kernel) > 0)


def grown(mask: Mask, radius: int) -> Mask:
    """The mask and everything within a radius of it."""
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    return np.asarray(cv2.dilate(mask.astype(np.uint8), kernel) > 0)


def parts(region: Region) -> list[Region]:
    """The region cut at its narrowest neck when it looks like two things that touch; else the region alone.

    Eroding it step by step, the first step at which substantial pieces come apart gives a seed for each; every pixel
    then belongs to the nearest seed.
    """
    x1, y1, x2, y2 = region.box
    crop = np.pad(region.mask[y1:y2, x1:x2], 1)
    depth = cv2.distanceTransform(crop.astype(np.uint8), cv2.DIST_L2, 5)
    for level in np.arange(1.0, 0.6 * float(depth.max()), 1.0):
        pieces = regions(depth > level, 1)
        # Substantial is a piece that makes some 4 % of the whole once the eroded rim is added, and is no sliver.
        seeds = [
            piece.mask
            for piece in pieces
            if (np.sqrt(piece.area) + 2 * level) ** 2 > 0.04 * region.area and depth[piece.mask].max() > 2 * level
        ]
        if len(seeds) >= 2:
            return _divided(region, crop, seeds)
    return [region]


def _divided(region: Region, crop: Mask, seeds: list[Mask]) -> list[Region]:
    """The region's pixels by nearest seed, largest part first. `crop` and the seeds have a rim of one pixel."""
    away = np.stack([cv2.distanceTransform((~seed).astype(np.uint8), cv2.DIST_L2, 5) for seed in seeds])
    nearest = np.argmin(away, axis=0)
    x1, y1, x2, y2 = region.box
    result = []
    for number in range(len(seeds)):
        mask = np.zeros_like(region.mask)
        mask[y1:y2, x1:x2] = ((nearest == number) & crop)[1:-1, 1:-1]
        result += regions(mask, 1)[:1]
    return sorted(result, key=lambda part: -part.area)
