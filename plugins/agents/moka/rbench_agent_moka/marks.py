"""The picture with marks: candidate keypoints with their labels, and the grid of tiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rbench.geometry import Array
from rbench_agent_moka.sight import Image as Picture
from rbench_agent_moka.tiles import Tiles

#: Red for what is grasped, blue for what is not.
COLORS = {"P": (255, 0, 0), "Q": (0, 0, 255)}
#: In the published picture, 369 pixels high at 100 dots an inch: markers of 10 points with edges of 2 and 40 %
#: opacity, labels of 12 points that keep 30 pixels from the border; a grid of 1 point and 30 % opacity, tile names
#: of 10 points. Here the same shares of the picture's height.
HEIGHT = 369
POINT = 100 / 72
MARKER, EDGE, LABEL, TILE_NAME, MARGIN = 10 * POINT, 2 * POINT, 12 * POINT, 10 * POINT, 30
MARKER_OPACITY, GRID_OPACITY = 0.4, 0.3


def marked(image: Picture, keypoints: Sequence[tuple[str, Array]], tiles: Tiles) -> Picture:
    """Draw marks at the picture's own resolution.

    Args:
        keypoints: label letter (`P`, `Q`) and positions (n, 2) of each object's candidates.
    """
    scale = image.shape[0] / HEIGHT
    picture = Image.fromarray(image).convert("RGBA")
    layer = Image.new("RGBA", picture.size)
    draw = ImageDraw.Draw(layer)
    for letter, points in keypoints:
        for x, y in points:
            r = scale * MARKER / 2
            fill = (*COLORS[letter], round(255 * MARKER_OPACITY))
            edge = (0, 0, 0, round(255 * MARKER_OPACITY))
            draw.ellipse((x - r, y - r, x + r, y + r), fill, edge, max(1, round(scale * EDGE)))
    font = ImageFont.load_default(size=scale * LABEL)
    for text, (x, y) in labels(keypoints, image.shape[0], image.shape[1], scale * MARGIN):
        draw.text((x, y), text, (0, 0, 0, 255), font, anchor="ls")
    _draw_grid(draw, tiles, scale)
    return np.asarray(Image.alpha_composite(picture, layer).convert("RGB"))


def labels(
    keypoints: Sequence[tuple[str, Array]], height: int, width: int, margin: float
) -> list[tuple[str, tuple[float, float]]]:
    """`P1`, `P2`, ... and where each is written: at its point, but not nearer to the border than the margin."""
    return [
        (
            f"{letter}{number}",
            (float(np.clip(x, margin, width - margin)), float(np.clip(y, margin, height - margin))),
        )
        for letter, points in keypoints
        for number, (x, y) in enumerate(points, start=1)
    ]


def _draw_grid(draw: ImageDraw.ImageDraw, tiles: Tiles, scale: float) -> None:
    line, thick = (0, 0, 0, round(255 * GRID_OPACITY)), max(1, round(scale * POINT))
    for column in range(1, tiles.columns):
        x = column * tiles.width / tiles.columns
        draw.line((x, 0, x, tiles.height), line, thick)
    for row in range(1, tiles.rows):
        y = row * tiles.height / tiles.rows
        draw.line((0, y, tiles.width, y), line, thick)
    font = ImageFont.load_default(size=scale * TILE_NAME)
    for name, position in tiles.names().items():
        draw.text(position, name, (255, 255, 255, 255), font, anchor="ls")
