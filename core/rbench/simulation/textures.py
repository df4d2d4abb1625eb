"""Pixels of surface textures, and the way back. Our own code makes them, so that no library version changes them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.scene import Color, Texture

Pixels = npt.NDArray[np.uint8]

#: Pixels along one side of a tile, and squares or noise cells across it.
TILE, CHECKER_SQUARES, NOISE_CELLS = 256, 2, 16


def tile(texture: Texture) -> Pixels:
    """One seamless tile (256, 256, 3) of a texture."""
    first, second = np.array(texture.color, dtype=np.float64), np.array(texture.second, dtype=np.float64)
    weight = {"flat": np.zeros((TILE, TILE)), "checker": _checker_weight(), "noise": _noise_weight()}[texture.kind]
    colors = first + weight[..., None] * (second - first)
    return np.floor(colors + 0.5).astype(np.uint8)


def tile_width(texture: Texture) -> float:
    """Width (m) that one tile covers on a surface."""
    cells = {"flat": 1, "checker": CHECKER_SQUARES, "noise": NOISE_CELLS}[texture.kind]
    return texture.size * cells


def read_texture(pixels: Any, width: float) -> Texture:
    """The texture whose tile these pixels (256, 256, 3) are, one tile covering `width` m.

    Two equal colours cannot be told from a flat texture; a flat one has no second colour and no size.
    """
    if (pixels == pixels[0, 0]).all():
        return Texture("flat", _color(pixels[0, 0]))
    noise = _noise_weight()
    first = _color(pixels[np.unravel_index(noise.argmin(), noise.shape)])
    second = _color(pixels[np.unravel_index(noise.argmax(), noise.shape)])
    for kind in ("noise", "checker"):
        if kind == "checker":
            first, second = _color(pixels[0, 0]), _color(pixels[0, -1])
        found = Texture(kind, first, second)
        if np.array_equal(tile(found), pixels):
            return Texture(found.kind, first, second, width / tile_width(Texture(found.kind, size=1.0)))
    raise ValueError(
        "the pixels are not those of a flat, checker or noise texture; build it with rbench's own textures"
    )


def _color(values: Any) -> Color:
    red, green, blue = (int(v) for v in values)
    return (red, green, blue)


def _checker_weight() -> npt.NDArray[np.float64]:
    square = np.arange(TILE) * CHECKER_SQUARES // TILE
    return ((square[:, None] + square[None, :]) % 2).astype(np.float64)


@cache
def _noise_weight() -> npt.NDArray[np.float64]:
    """Periodic value noise of two octaves, stretched to 0..1 so that both colours occur."""
    weight = np.zeros((TILE, TILE))
    for octave, cells in ((0, NOISE_CELLS), (1, 2 * NOISE_CELLS)):
        lattice = _lattice(cells, octave)
        place = np.arange(TILE) * cells / TILE
        low = place.astype(np.int64)
        part = place - low
        part = part * part * (3.0 - 2.0 * part)
        high = (low + 1) % cells
        rows = lattice[low] * (1.0 - part)[:, None] + lattice[high] * part[:, None]
        weight += (rows[:, low] * (1.0 - part) + rows[:, high] * part) / (1 + octave)
    lowest, highest = weight.min(), weight.max()
    return np.asarray((weight - lowest) / (highest - lowest))


def _lattice(cells: int, octave: int) -> npt.NDArray[np.float64]:
    """Pseudo-random numbers 0..1 of an integer hash (the finaliser of MurmurHash3)."""
    h = np.arange(cells * cells, dtype=np.uint64) + np.uint64(1 + 1_000_003 * octave)
    mask = np.uint64(0xFFFFFFFF)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h ^= h >> np.uint64(shift)
        h = (h * np.uint64(factor)) & mask
    h ^= h >> np.uint64(16)
    return (h.astype(np.float64) / float(0xFFFFFFFF)).reshape(cells, cells)
