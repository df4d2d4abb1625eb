"""How different two colours look: sRGB to CIELAB, and the CIEDE2000 difference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rbench.geometry import Array

#: Linear sRGB to XYZ under D65 (IEC 61966-2-1), and that white.
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = _TO_XYZ.sum(axis=1)


def lab_of(rgb: npt.NDArray[np.uint8]) -> Array:
    """CIELAB (..., 3) of sRGB colours (..., 3): L* 0 to 100, a*, b*."""
    value = np.asarray(rgb, dtype=np.float64) / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    x = linear @ _TO_XYZ.T / _WHITE
    # CIE 15: the cube root, and a straight line near black.
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def ciede2000(one: Array, other: Array) -> Array:
    """The CIEDE2000 difference (...) of CIELAB colours (..., 3), with weights of 1.

    CIE 142-2001, in the form of Sharma, Wu and Dalal, "The CIEDE2000 color-difference formula: implementation notes,
    supplementary test data, and mathematical observations" (2005), equations 2 to 22.
    """
    l1, a1, b1 = np.moveaxis(np.asarray(one, dtype=np.float64), -1, 0)
    l2, a2, b2 = np.moveaxis(np.asarray(other, dtype=np.float64), -1, 0)
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = (1 - _near_gray(chroma)) / 2
    c1, h1 = _polar((1 + g) * a1, b1)
    c2, h2 = _polar((1 + g) * a2, b2)
    gray = c1 * c2 == 0

    dl, dc = l2 - l1, c2 - c1
    turn = np.where(gray, 0.0, (h2 - h1 + 180) % 360 - 180)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn) / 2)

    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    across = np.abs(h1 - h2) > 180
    hue = np.where(gray, h1 + h2, (h1 + h2 + np.where(across, np.where(h1 + h2 < 360, 360, -360), 0)) / 2)

    t = 1 - 0.17 * _cos(hue - 30) + 0.24 * _cos(2 * hue) + 0.32 * _cos(3 * hue + 6) - 0.20 * _cos(4 * hue - 63)
    sl = 1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2)
    sc, sh = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    rotation = -2 * _near_gray(chroma) * np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    dl, dc, dh = dl / sl, dc / sc, dh / sh
    return np.asarray(np.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh))


def _near_gray(chroma: Array) -> Array:
    return np.asarray(np.sqrt(chroma**7 / (chroma**7 + 25.0**7)))


def _polar(a: Array, b: Array) -> tuple[Array, Array]:
    """Chroma, and hue in degrees from 0 to 360."""
    return np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360


def _cos(degrees: Array) -> Array:
    return np.asarray(np.cos(np.radians(degrees)))
