"""What can be said in words about what was seen: colour, size, place, straight sides."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np

from rbench.geometry import Array
from rbench.vision.classical.regions import Region
from rbench.vision.classical.surface import Image, Mask
from rbench.vision.classical.tabletop import Tabletop
from rbench.vision.scene_objects import Role, SceneObject, SceneObjects

#: Basic colour terms (Berlin and Kay's eleven, and cyan) with RGB values that they are typical for.
_TERMS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "red": ((255, 0, 0), (200, 20, 40)),
    "orange": ((255, 150, 0), (255, 110, 40)),
    "yellow": ((255, 255, 0), (255, 215, 0)),
    "green": ((0, 128, 0), (0, 255, 0), (110, 140, 40)),
    "cyan": ((0, 255, 255), (0, 170, 170)),
    "blue": ((0, 0, 255), (30, 110, 230), (20, 20, 130)),
    "purple": ((128, 0, 128), (150, 80, 220)),
    "pink": ((255, 150, 180), (255, 0, 255)),
    "brown": ((150, 75, 20), (165, 42, 42)),
    "black": ((0, 0, 0),),
    "gray": ((128, 128, 128), (85, 85, 85)),
    "white": ((255, 255, 255),),
}
#: Share of a thing's pixels, the brightest, that show its colour: the faces that the light falls on.
_LIT = 0.15
#: What the lit faces of a white thing are under a light that clips nothing, of 255.
_WHITE = 225.0
#: Lightness says less about a colour's name than hue and saturation do.
_LIGHTNESS = 0.6
#: A second term this near, as a share of the distance to the nearest one, is named too.
_BETWEEN = 1.12
#: A thing this much smaller (area) than another is small, and the other way round big.
_SMALLER = 0.5
#: Sides longer than this share of an outline are straight sides. What has this share of its outline in them looks
#: rectangular: cubes and pyramids always (0.74 and more), cylinders hardly ever (0.50), six-sided prisms half the time.
_LONG, _STRAIGHT = 0.12, 0.72
#: How far (share of the outline) a side may bend and still be one side.
_BEND = 0.02


def scene_objects(image: Image, seen: Tabletop) -> SceneObjects:
    """The small solid and the open box, each where it was seen, in words.

    The eye reads no instruction: the solid is what is manipulated and the box what receives it, because that is all it
    looks for.
    """
    solid = None if seen.solid is None else seen.solid.region
    box = None if seen.box is None else seen.box.region
    found: list[SceneObject] = []
    if solid is not None:
        kinds = ("geometry", "rectangular shape") if _straight(solid.mask) else ("geometry",)
        found.append(_described(1, "manipulation object", "object", kinds, "solid", image, solid, box))
    if box is not None:
        found.append(
            _described(2, "receiver object", "box", ("container", "rectangular shape"), "hollow", image, box, solid)
        )
    return SceneObjects(tuple(found))


def color_name(image: Image, mask: Mask) -> str:
    """The basic colour term for a region, or the two that it lies between, the nearer one last."""
    inside = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    pixels = image[inside if inside.any() else mask]
    value = pixels.max(axis=1)
    lit = np.median(pixels[value >= np.quantile(value, 1.0 - _LIT)], axis=0)
    own = _lab(np.clip(lit * (255.0 / _WHITE), 0, 255)[None])[0]
    distances = {name: float(np.linalg.norm(_lab(np.array(rgb)) - own, axis=1).min()) for name, rgb in _TERMS.items()}
    first, second = sorted(distances, key=lambda name: distances[name])[:2]
    return f"{second} {first}" if distances[second] < _BETWEEN * distances[first] else first


def _described(
    number: int,
    role: Role,
    name: str,
    kinds: tuple[str, ...],
    state: Literal["solid", "hollow"],
    image: Image,
    region: Region,
    other: Region | None,
) -> SceneObject:
    return SceneObject(
        id=number,
        object_type=role,
        name=name,
        category=kinds,
        color=color_name(image, region.mask),
        size=_size(region, other),
        position=_position(region, image.shape[0], image.shape[1]),
        state=state,
    )


def _lab(rgb: Array) -> Array:
    """CIE Lab of colours (n, 3), 0..255, with its lightness scaled down."""
    lab = cv2.cvtColor((rgb / 255.0).astype(np.float32)[None], cv2.COLOR_RGB2LAB)[0]
    return np.asarray(lab * (_LIGHTNESS, 1.0, 1.0))


def _size(region: Region, other: Region | None) -> str:
    if other is None:
        return "normal"
    ratio = region.area / other.area
    return "small" if ratio < _SMALLER else "big" if ratio > 1 / _SMALLER else "normal"


def _position(region: Region, height: int, width: int) -> str:
    """The third of the picture in which a thing's middle lies; of two, the one it lies deeper in."""
    x1, y1, x2, y2 = region.box
    across, down = (x1 + x2) / width - 1, (y1 + y2) / height - 1
    if max(abs(across), abs(down)) < 1 / 3:
        return "normal"
    if abs(across) >= abs(down):
        return "left" if across < 0 else "right"
    return "top" if down < 0 else "bottom"


def _straight(mask: Mask) -> bool:
    """Whether most of an outline is long straight sides."""
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    hull = cv2.convexHull(max(contours, key=len))
    around = cv2.arcLength(hull, True)
    corners = cv2.approxPolyDP(hull, _BEND * around, True)[:, 0].astype(np.float64)
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    return bool(sides[sides > _LONG * around].sum() > _STRAIGHT * around)
