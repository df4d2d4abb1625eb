"""What a backend would send is what the camera saw: upright, RGB, with the right header."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from rbench.vision.images import ImageFormat, data_uri, encoded, resized

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}


@pytest.fixture
def picture() -> np.ndarray:
    """Red above, blue below; a green strip on the right."""
    image = np.zeros((40, 60, 3), dtype=np.uint8)
    image[:20] = (250, 10, 10)
    image[20:] = (10, 10, 250)
    image[:, 48:] = (10, 250, 10)
    return image


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_a_payload_decodes_to_the_upright_rgb_picture(picture: np.ndarray, form: ImageFormat) -> None:
    header, _, payload = data_uri(picture, form).partition(",")
    assert header == f"data:image/{form};base64"
    data = base64.b64decode(payload, validate=True)
    assert data.startswith(MAGIC[form])
    decoded = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    assert np.abs(decoded - picture)[:, [5, 30, 55]][[5, 30]].max() <= 3


def test_png_loses_nothing(picture: np.ndarray) -> None:
    assert (np.asarray(Image.open(io.BytesIO(encoded(picture)))) == picture).all()


def test_an_image_of_another_kind_is_refused_with_the_remedy(picture: np.ndarray) -> None:
    with pytest.raises(ValueError, match="uint8 RGB"):
        encoded(picture.astype(np.float32))


def test_resizing_changes_the_size_only(picture: np.ndarray) -> None:
    smaller = resized(picture, 20, 30)
    assert smaller.shape == (20, 30, 3)
    assert np.abs(smaller[3, 3].astype(int) - (250, 10, 10)).max() <= 3
    assert resized(picture, 40, 60) is picture
