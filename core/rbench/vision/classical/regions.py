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

    Eroding it step by step, the first step at which two substantial pieces come apart gives a seed for each; every
    pixel then belongs to the seed that reaches it first.
    """
    x1, y1, x2, y2 = region.box
    crop = np.pad(region.mask[y1:y2, x1:x2], 1)
    depth = cv2.distanceTransform(crop.astype(np.uint8), cv2.DIST_L2, 5)
    for level in np.arange(1.0, 0.6 * float(depth.max()), 1.0):
        count, labels, stats, _ = cv2.connectedComponentsWithStats((depth > level).astype(np.uint8), connectivity=4)
        # A seed counts when the piece it grew from is some 2 % of the whole: grown back by what was eroded.
        sizes = [(float(np.sqrt(stats[i, cv2.CC_STAT_AREA])) + 2 * level) ** 2 for i in range(1, count)]
        seeds = [
            i + 1
            for i, size in enumerate(sizes)
            if size > 0.04 * region.area and depth[labels == i + 1].max() > 2 * level
        ]
        if len(seeds) >= 2:
            return _flooded(region, labels, seeds, depth)
    return [region]


def _flooded(region: Region, labels: npt.NDArray[Any], seeds: list[int], depth: npt.NDArray[Any]) -> list[Region]:
    markers = np.zeros(labels.shape, np.int32)
    for number, seed in enumerate(seeds, start=1):
        markers[labels == seed] = number
    markers[depth == 0] = len(seeds) + 1
    relief = cv2.cvtColor(255 - np.clip(depth * 4, 0, 255).astype(np.uint8), cv2.COLOR_GRAY2BGR)
    flooded = cv2.watershed(relief, markers)
    result = []
    x1, y1, x2, y2 = region.box
    for number in range(1, len(seeds) + 1):
        mask = np.zeros_like(region.mask)
        mask[y1:y2, x1:x2] = (flooded == number)[1:-1, 1:-1] & region.mask[y1:y2, x1:x2]
        result += regions(mask, 4)[:1]
    return sorted(result, key=lambda r: -r.area)
