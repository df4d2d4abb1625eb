"""Where in a picture of a table are the open yellow box and the small solid."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from rbench.vision.classical.regions import Region, grown, opened, parts, regions
from rbench.vision.classical.surface import Image, Mask, Plane, find_surface

#: Hue (degrees), saturation and value of what people call yellow, under soft light and in the box's own shade.
_YELLOW_HUE, _YELLOW_SATURATION, _YELLOW_VALUE = (40.0, 68.0), 0.55, 0.20
#: Around the box's own hue its faces vary by no more than this (degrees).
_HUE_SPREAD = 4.0
#: Smallest share of the picture that can be the box, and the solid.
_LEAST_BOX, _LEAST_SOLID = 2e-3, 2.5e-4
#: How much smaller (area) than the box the solid is, in the middle, and the spread of its logarithm.
_USUAL_RATIO, _RATIO_SPREAD = 0.22, 0.9
#: Its usual share of the picture, when there is no box to compare with.
_USUAL_SHARE = 0.02
#: A thing less likely than this is not reported.
_LEAST_SCORE = 0.25
#: What a region is worth that touches so many sides of the picture: it is cut off, or part of the surroundings.
_CUT_OFF = (1.0, 0.35, 0.05, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Sighting:
    """One thing that was seen, and how sure that is (0..1)."""

    region: Region
    score: float


@dataclass(frozen=True, eq=False)
class Tabletop:
    """What was seen: the solid and the box, each None when there was nothing like it."""

    solid: Sighting | None
    box: Sighting | None


def look(image: Image, contrast: float) -> Tabletop:
    """Look at an RGB picture.

    Args:
        image: (height, width, 3) uint8.
        contrast: by how many units of noise a pixel must differ from the surface around it to stand out.
    """
    surface = find_surface(image)
    out = (surface.contrast > contrast) & ~surface.shadow
    box, beside = _find_box(image, out)
    rest = out & ~grown(box.region.mask, 2) if box else out
    found = regions(opened(rest, _thin(image)), int(_LEAST_SOLID * out.size))
    solid = _best_solid([*found, *beside], box, surface.contrast / contrast)
    return Tabletop(solid, box)


def _thin(image: Image) -> float:
    """Half the width (pixels) of slivers that are edges rather than things."""
    return float(max(image.shape[:2])) / 300.0


def _find_box(image: Image, out: Mask) -> tuple[Sighting | None, list[Region]]:
    """The largest yellow region, and regions of its colour that only touch it."""
    hsv = cv2.cvtColor(cv2.GaussianBlur(image, (0, 0), 0.6).astype(np.float32) / 255.0, cv2.COLOR_RGB2HSV)
    hue, saturation, value = hsv[..., 0], hsv[..., 1], hsv[..., 2]
    colorful = out & (saturation > _YELLOW_SATURATION) & (value > _YELLOW_VALUE)
    yellow = colorful & (hue > _YELLOW_HUE[0]) & (hue < _YELLOW_HUE[1])
    least = int(_LEAST_BOX * out.size)
    candidates = regions(yellow, least)
    if not candidates:
        return None, []
    own = float(np.median(hue[candidates[0].mask]))
    # Within its own hue only: a yellow solid in front of a golden box is another thing.
    same = opened(colorful & (np.abs(hue - own) < _HUE_SPREAD), _thin(image))
    candidates = regions(same, least)
    if not candidates:
        return None, []
    pieces = parts(candidates[0]) if candidates[0].solidity < 0.93 else candidates[:1]
    box = pieces[0]
    return Sighting(box, box.solidity / (1.0 + box.sides)), pieces[1:]


def _best_solid(candidates: list[Region], box: Sighting | None, clear: Plane) -> Sighting | None:
    sightings = [Sighting(region, _solid_score(region, box, clear)) for region in candidates]
    sightings = [s for s in sightings if s.score > _LEAST_SCORE]
    return max(sightings, key=lambda s: s.score, default=None)


def _solid_score(region: Region, box: Sighting | None, clear: Plane) -> float:
    """How much a region is like a small compact thing on the surface, 0..1.

    Args:
        clear: how clearly each pixel stands out, 1 for just enough.
    """
    usual = _USUAL_RATIO * box.region.area if box else _USUAL_SHARE * clear.size
    size = float(np.exp(-0.5 * (np.log(region.area / usual) / _RATIO_SPREAD) ** 2))
    x1, y1, x2, y2 = region.box
    aspect = min((x2 - x1) / (y2 - y1), (y2 - y1) / (x2 - x1))
    compact = max(0.0, (region.solidity - 0.6) / 0.4) * min(1.0, aspect / 0.5)
    whole = _CUT_OFF[region.sides]
    certain = min(1.0, float(np.median(clear[region.mask])) / 2)
    return float(size * compact * whole * certain)
