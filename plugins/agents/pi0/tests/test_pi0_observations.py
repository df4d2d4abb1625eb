"""What a policy server is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rbench_agent_pi0.observations import droid_observation, letterboxed
from rbench_agent_pi0.options import Options


def content(image: np.ndarray[Any, Any]) -> tuple[int, int, int, int]:
    """Rows and columns of a white picture inside its black bars: top, height, left, width."""
    rows, columns = np.nonzero(image.any(axis=(1, 2)))[0], np.nonzero(image.any(axis=(0, 2)))[0]
    return int(rows[0]), len(rows), int(columns[0]), len(columns)


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [
        (180, 320, (49, 126, 0, 224)),
        (480, 640, (28, 168, 0, 224)),
        (240, 320, (28, 168, 0, 224)),
        (640, 480, (0, 224, 28, 168)),
        (720, 1280, (49, 126, 0, 224)),
        (224, 224, (0, 224, 0, 224)),
        (100, 100, (0, 224, 0, 224)),
        (2, 2000, (111, 1, 0, 224)),
    ],
)
def test_pictures_are_letterboxed_as_openpi_does(height: int, width: int, expected: tuple[int, int, int, int]) -> None:
    boxed = letterboxed(np.full((height, width, 3), 255, dtype=np.uint8), 224, 224)
    assert (boxed.shape, boxed.dtype) == ((224, 224, 3), np.uint8)
    assert content(boxed) == expected


def test_a_picture_of_the_right_size_stays_as_it_is() -> None:
    image = np.random.default_rng(0).integers(0, 255, (224, 224, 3), dtype=np.uint8)
    assert letterboxed(image, 224, 224) is image


def test_a_letterboxed_picture_stays_upright_and_rgb() -> None:
    image = np.zeros((240, 320, 3), dtype=np.uint8)
    image[:120, :160] = (255, 0, 0)
    boxed = letterboxed(image, 224, 224)
    assert boxed[30:100, 5:100, 0].min() > 250
    assert boxed[:, :, 1:].max() == 0
    assert boxed[120:, :].max() == boxed[:, 120:].max() == 0


def test_the_keys_shapes_and_types_are_those_of_droid(seen: Callable[..., Any]) -> None:
    shown = droid_observation(seen(gripper=0.25), "Do it.", Options(), 224)
    assert {key: (np.shape(value), str(getattr(value, "dtype", "text"))) for key, value in shown.items()} == {
        "observation/exterior_image_1_left": ((224, 224, 3), "uint8"),
        "observation/wrist_image_left": ((224, 224, 3), "uint8"),
        "observation/joint_position": ((7,), "float32"),
        "observation/gripper_position": ((1,), "float32"),
        "prompt": ((), "text"),
    }
    assert shown["observation/gripper_position"][0] == 0.25
    assert shown["observation/joint_position"] == pytest.approx(np.linspace(-1, 1, 7))
    assert shown["prompt"] == "Do it."


def test_the_exterior_picture_is_of_left_top_and_the_wrist_picture_of_wrist(seen: Callable[..., Any]) -> None:
    shown = droid_observation(seen(), "Do it.", Options(), 224)
    assert tuple(shown["observation/exterior_image_1_left"][112, 10]) == (255, 0, 0)
    assert tuple(shown["observation/wrist_image_left"][112, 10]) == (128, 128, 128)


def test_pictures_can_be_sent_as_they_are(seen: Callable[..., Any]) -> None:
    shown = droid_observation(seen(180, 320), "Do it.", Options(), 0)
    assert shown["observation/wrist_image_left"].shape == (180, 320, 3)
