"""The grid of tiles, and the marks in the picture."""

from __future__ import annotations

import numpy as np
import pytest

from rbench_agent_moka.marks import labels, marked
from rbench_agent_moka.questions import Unusable
from rbench_agent_moka.tiles import Tiles

GRID = Tiles(5, 5, 100, 200)
PICTURE = np.full((369, 369, 3), 120, dtype=np.uint8)


def sampled(tile: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([GRID.sample(tile, rng) for _ in range(200)])


@pytest.mark.parametrize(
    ("tile", "low", "high"), [("a1", (0, 80), (40, 100)), ("e5", (160, 0), (200, 20)), ("c3", (80, 40), (120, 60))]
)
def test_a1_is_lower_left_and_e5_upper_right(tile: str, low: tuple, high: tuple) -> None:
    points = sampled(tile)
    assert (points >= low).all()
    assert (points < high).all()
    assert (np.ptp(points, axis=0) > 0.9 * (np.array(high) - low)).all()


def test_the_same_generator_gives_the_same_waypoint() -> None:
    a, b = (GRID.sample("b2", np.random.default_rng(7)) for _ in range(2))
    assert a == b


@pytest.mark.parametrize("tile", ["f1", "a6", "a0", "b12"])
def test_a_tile_beyond_the_grid_is_refused(tile: str) -> None:
    with pytest.raises(Unusable, match=tile):
        GRID.sample(tile, np.random.default_rng(0))


def test_every_tile_is_named_once() -> None:
    names = GRID.names()
    assert len(names) == 25
    assert names["a1"] == (20.0, 90.0)


def test_labels_count_from_one_and_stay_in_the_picture() -> None:
    points = np.array([[5.0, 50.0], [100.0, 99.0]])
    assert labels([("P", points)], 100, 200, 30) == [("P1", (30.0, 50.0)), ("P2", (100.0, 70.0))]


def test_marks_are_red_on_what_is_grasped_and_blue_on_what_is_not() -> None:
    p, q = np.array([[100.0, 100.0]]), np.array([[250.0, 250.0]])
    picture = marked(PICTURE, [("P", p), ("Q", q)], Tiles(5, 5, 369, 369)).astype(int)
    red, blue = picture[102, 97], picture[252, 247]
    assert red[0] > red[2] + 50
    assert blue[2] > blue[0] + 50


def test_marks_keep_the_size_of_the_picture_and_leave_the_original_alone() -> None:
    before = PICTURE.copy()
    picture = marked(PICTURE, [("P", np.array([[100.0, 100.0]]))], Tiles(5, 5, 369, 369))
    assert picture.shape == PICTURE.shape
    assert picture.dtype == np.uint8
    assert (before == PICTURE).all()


def test_the_grid_divides_the_picture_where_the_tiles_do() -> None:
    picture = marked(PICTURE, [], Tiles(5, 5, 369, 369)).astype(int)
    lines = np.flatnonzero((picture[5] < 110).all(axis=1))
    assert {round(x / 73.8) for x in lines} == {1, 2, 3, 4}


@pytest.mark.parametrize(("size", "expected"), [((480, 640), (369, 492)), ((512, 512), (369, 369))])
def test_the_published_picture_is_shrunk_as_published(size: tuple[int, int], expected: tuple[int, int]) -> None:
    pytest.importorskip("matplotlib")
    from rbench_agent_moka.published_marks import marked_as_published

    image = np.full((*size, 3), 120, dtype=np.uint8)
    points = np.array([[100.0, 100.0], [300.0, 200.0]])
    picture = marked_as_published(image, [("P", points)], Tiles(5, 5, *size)).astype(int)
    assert picture.shape[:2] == expected
    x, y = (100 * expected[1] // size[1], 100 * expected[0] // size[0])
    assert picture[y, x, 0] > picture[y, x, 2] + 50
