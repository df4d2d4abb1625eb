from __future__ import annotations

import numpy as np
import pytest

from rbench.observation import Intrinsics
from rbench.validation.color_difference import lab_of
from rbench.validation.measures import contrast, extent, form, narrower_side, shading, share_near, surroundings

PINHOLE = Intrinsics(100.0, 100.0, 31.5, 31.5)


def block(top: int, left: int, height: int, width: int) -> np.ndarray:
    mask = np.zeros((64, 64), dtype=bool)
    mask[top : top + height, left : left + width] = True
    return mask


def picture(*parts: tuple[np.ndarray, tuple[int, int, int]]) -> np.ndarray:
    image = np.full((64, 64, 3), 90, dtype=np.uint8)
    for mask, color in parts:
        image[mask] = color
    return lab_of(image)


def test_the_visible_share_is_of_what_would_be_seen_alone() -> None:
    found = extent(block(20, 20, 10, 5), block(20, 20, 10, 20))
    assert (found.visible, found.width, found.cut_off, found.pixels) == (0.25, 5, False, 50)


@pytest.mark.parametrize("alone", [block(0, 20, 5, 5), block(20, 59, 5, 5), block(59, 0, 5, 5), block(0, 0, 0, 0)])
def test_what_touches_the_edge_or_is_outside_is_cut_off(alone: np.ndarray) -> None:
    assert extent(alone, alone).cut_off


def test_the_width_is_the_narrower_side() -> None:
    assert narrower_side(block(3, 4, 30, 7)) == 7
    assert narrower_side(block(3, 4, 6, 20)) == 6
    assert narrower_side(np.zeros((8, 8), dtype=bool)) == 0


def test_a_body_of_which_a_part_blends_in_has_little_contrast() -> None:
    body = block(20, 20, 20, 20)
    image = picture((body, (90, 90, 92)), (block(20, 20, 12, 20), (250, 20, 20)))
    assert contrast(image, body, surroundings(body)) < 2.0
    assert contrast(picture((body, (250, 20, 20))), body, surroundings(body)) > 30.0


def test_contrast_with_what_is_not_seen_is_none() -> None:
    body = block(20, 20, 5, 5)
    assert contrast(picture((body, (250, 0, 0))), body, np.zeros((64, 64), dtype=bool)) == 0.0


def test_a_plane_is_one_face() -> None:
    found = form(block(16, 16, 32, 32), np.full((64, 64), 0.5, dtype=np.float32), PINHOLE)
    assert (len(found.faces), found.turned) == (1, 0.0)


def test_a_roof_is_two_faces_and_its_shading_is_their_difference() -> None:
    body = block(16, 16, 32, 32)
    columns = np.abs(np.arange(64) - 31.5) / 100.0
    depth = (0.5 + np.tile(columns, (64, 1))).astype(np.float32)
    found = form(body, depth, PINHOLE)
    assert len(found.faces) == 2
    assert found.turned == pytest.approx(0.5, abs=0.1)
    left, right = block(16, 16, 32, 16), block(16, 32, 32, 16)
    assert shading(picture((left, (200, 0, 0)), (right, (120, 0, 0))), found) > 10.0
    assert shading(picture((body, (200, 0, 0))), found) == 0.0


def test_a_curved_side_turns_away() -> None:
    body = block(16, 16, 32, 32)
    x = (np.arange(64) - 31.5) / 17.0
    depth = np.tile(0.5 - 0.08 * np.sqrt(np.clip(1 - x**2, 0, None)), (64, 1)).astype(np.float32)
    found = form(body, depth, PINHOLE)
    assert found.turned > 0.3
    assert shading(picture((body, (200, 0, 0)), (found.aside, (120, 0, 0))), found) > 10.0


def test_a_body_that_is_not_seen_has_no_form() -> None:
    nothing = np.zeros((64, 64), dtype=bool)
    found = form(nothing, np.full((64, 64), np.inf, dtype=np.float32), PINHOLE)
    assert (found.faces, found.turned) == ((), 0.0)
    assert shading(picture(), found) == 0.0


def test_how_much_is_near() -> None:
    depth = np.full((10, 10), np.inf, dtype=np.float32)
    depth[:3] = 0.05
    assert share_near(depth, 0.15) == 0.3
