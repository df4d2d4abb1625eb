"""The marks as the published program draws them: a plotting library's figure, so the picture shrinks to 369 pixels."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from rbench.errors import StartError
from rbench.geometry import Array
from rbench_agent_moka.marks import COLORS, GRID_OPACITY, MARGIN, MARKER_OPACITY, labels
from rbench_agent_moka.sight import Image as Picture
from rbench_agent_moka.tiles import Tiles

#: The figure of the published program: inches, dots an inch.
_SIZE, _DPI = (6.4, 4.8), 100


def require_matplotlib() -> None:
    """Refuse to start without it.

    Raises:
        StartError: says how to install it.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as problem:
        raise StartError(
            f"agent 'moka': render = matplotlib369 draws with matplotlib ({problem}); pip install 'rbench[report]'"
        ) from None


def marked_as_published(image: Picture, keypoints: Sequence[tuple[str, Array]], tiles: Tiles) -> Picture:
    """Keypoints first, then the grid on top of the result; each time through a figure and a JPEG file.

    Args:
        keypoints: label letter (`P`, `Q`) and positions (n, 2) of each object's candidates.
    """
    figure, axes = _figure(image)
    for letter, points in keypoints:
        color = np.array(COLORS[letter]) / 255
        axes.plot(
            *points.T, "o", color=color, markersize=10, alpha=MARKER_OPACITY, markeredgecolor="k", markeredgewidth=2
        )
    for text, (x, y) in labels(keypoints, image.shape[0], image.shape[1], MARGIN):
        axes.text(x, y, text, fontsize=12)
    first = _saved(figure)
    figure, axes = _figure(first)
    height, width = first.shape[:2]
    for column in range(1, tiles.columns):
        axes.axvline(column * width / tiles.columns, color="k", alpha=GRID_OPACITY, linewidth=1)
    for row in range(1, tiles.rows):
        axes.axhline(row * height / tiles.rows, color="k", alpha=GRID_OPACITY, linewidth=1)
    for name, (x, y) in Tiles(tiles.rows, tiles.columns, height, width).names().items():
        axes.text(x, y, name, fontsize=10, color="w")
    return _saved(figure)


def _figure(image: Picture) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, dpi=_DPI)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.imshow(image)
    axes.axis("off")
    return figure, axes


def _saved(figure: Any) -> Picture:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="jpeg", bbox_inches="tight", pad_inches=0)
    return np.asarray(Image.open(buffer).convert("RGB"))
