"""Images as backends send them: encoded, upright, in RGB order."""

from __future__ import annotations

import base64
import io
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

ImageFormat = Literal["png", "jpeg"]
JPEG_QUALITY = 95


def encoded(image: npt.NDArray[np.uint8], form: ImageFormat = "png") -> bytes:
    """An RGB image (height, width, 3) as the bytes of a PNG or JPEG file.

    Raises:
        ValueError: not uint8 or not of that shape.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ValueError(
            f"an image of a question is (height, width, 3) uint8 RGB, not {image.shape} {image.dtype}; convert it first"
        )
    buffer = io.BytesIO()
    options = {"quality": JPEG_QUALITY, "subsampling": 0} if form == "jpeg" else {}
    Image.fromarray(image).save(buffer, form, **options)
    return buffer.getvalue()


def data_uri(image: npt.NDArray[np.uint8], form: ImageFormat = "png") -> str:
    """The encoded image as a `data:` URI, as chat endpoints take it."""
    return f"data:image/{form};base64,{base64.b64encode(encoded(image, form)).decode('ascii')}"


def resized(image: npt.NDArray[np.uint8], height: int, width: int) -> npt.NDArray[np.uint8]:
    """The image at another size (Lanczos)."""
    if image.shape[:2] == (height, width):
        return image
    return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.LANCZOS))
