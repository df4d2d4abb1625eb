"""Coordinate spaces in which vision models answer, and their exact conversion to pixels.

Boxes are measured at pixel *edges*: the whole image is (0, 0, width, height), and the centre of the upper left
pixel lies at (0.5, 0.5). Cameras (`rbench.observation.Intrinsics`) put that centre at (0, 0): subtract 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: `norm999`, `norm1000`: 0..999 or 0..1000 from side to side. `unit`: 0..1. `abs`: pixels of the image that was sent.
#: `abs_resized`: pixels of the image as the model resized it before looking.
CoordinateSpace = Literal["norm999", "norm1000", "unit", "abs", "abs_resized"]
Box4 = tuple[float, float, float, float]

_SPAN: dict[CoordinateSpace, float] = {"norm999": 999.0, "norm1000": 1000.0, "unit": 1.0}
#: A box may stick out of the image by this share of its side before it is refused.
OUTSIDE = 0.05


@dataclass(frozen=True)
class Frame:
    """How the numbers of one reply relate to the image that was asked about.

    Attributes:
        space: the convention of the model.
        asked: (height, width) of the image in the question.
        sent: of the image that was sent, when the backend resized it.
        seen: of the image as the model resized it; only `abs_resized` uses it.
    """

    space: CoordinateSpace
    asked: tuple[int, int]
    sent: tuple[int, int] | None = None
    seen: tuple[int, int] | None = None

    def to_pixels(self, box: Box4) -> Box4:
        """A box (x1, y1, x2, y2) in the model's numbers as pixels of the image that was asked about."""
        height, width = self.asked
        tall, wide = self._extent()
        sx, sy = width / wide, height / tall
        x1, y1, x2, y2 = box
        return (x1 * sx, y1 * sy, x2 * sx, y2 * sy)

    def from_pixels(self, box: Box4) -> Box4:
        """The inverse of `to_pixels`."""
        height, width = self.asked
        tall, wide = self._extent()
        sx, sy = wide / width, tall / height
        x1, y1, x2, y2 = box
        return (x1 * sx, y1 * sy, x2 * sx, y2 * sy)

    def sentence(self) -> str:
        """The convention in words, for the prompt."""
        tall, wide = self._extent()
        height, width = self.sent or self.asked
        size = f"The image is {width} pixels wide and {height} pixels high."
        if self.space == "unit":
            return f"{size} Give coordinates as fractions of its width and height, from 0 to 1, x to the right, y down."
        if self.space in _SPAN:
            return (
                f"{size} Give coordinates as integers from 0 to {wide:g}, relative to its width and height,"
                " x to the right, y down."
            )
        return f"The image is {wide} pixels wide and {tall} pixels high. Give coordinates in pixels, x right, y down."

    def _extent(self) -> tuple[float, float]:
        """Height and width of the image in the model's numbers."""
        if self.space in _SPAN:
            return (_SPAN[self.space], _SPAN[self.space])
        if self.space == "abs":
            return self.sent or self.asked
        return self.seen or self.sent or self.asked


def box_fault(box: Box4, height: int, width: int) -> str | None:
    """Why a box in pixels is not usable, or None.

    A box is refused when it is inverted, has no area, or sticks out by more than `OUTSIDE` of the image's side.
    """
    x1, y1, x2, y2 = box
    if not all(abs(value) < float("inf") for value in box):
        return "it holds a number that is not finite"
    if x2 < x1 or y2 < y1:
        return "it is inverted; the first corner is the upper left one"
    if x2 == x1 or y2 == y1:
        return "it has no area"
    dx, dy = OUTSIDE * width, OUTSIDE * height
    if x1 < -dx or y1 < -dy or x2 > width + dx or y2 > height + dy or x1 >= width or y1 >= height or x2 <= 0 or y2 <= 0:
        return f"it lies outside the image of {width} x {height} pixels"
    return None
