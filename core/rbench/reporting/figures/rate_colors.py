"""Colours of success rates: perceptually even, readable without colour vision, the same on light and dark pages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.colors import Colormap


@cache
def rate_map() -> Colormap:
    """The map from a rate 0..1: viridis without its darkest end."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    viridis = colormaps["viridis"]
    return LinearSegmentedColormap.from_list("rate", [viridis(0.06 + 0.92 * step / 64) for step in range(65)])


def rate_color(rate: float) -> str:
    """The colour of a rate, `#rrggbb`."""
    from matplotlib.colors import to_hex

    return to_hex(rate_map()(rate))


def text_color(background: str) -> str:
    """Black or white, whichever reads better on a colour (WCAG 2 relative luminance)."""
    parts = [int(background[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if luminance > 0.179 else "#ffffff"
