"""Candidate keypoints: the middle, and the outline's points that are farthest apart."""

from __future__ import annotations

import numpy as np

from rbench_agent_moka.keypoints import farthest_points, outline, propose, vertices_of


def square(size: int = 60, low: int = 20, high: int = 40) -> np.ndarray:
    mask = np.zeros((size, size), dtype=np.bool_)
    mask[low:high, low:high] = True
    return mask


def test_a_square_gives_its_middle_and_its_corners() -> None:
    found = propose(vertices_of(square()), 5)
    assert found[0].tolist() == [30.0, 30.0]
    assert {tuple(p) for p in found[1:]} == {(20.5, 20.5), (39.5, 20.5), (20.5, 39.5), (39.5, 39.5)}


def test_the_middle_comes_first_and_the_others_from_the_top_down() -> None:
    found = propose(vertices_of(square()), 6)
    assert found[0].tolist() == [30.0, 30.0]
    assert found[1:, 1].tolist() == sorted(found[1:, 1])


def test_there_are_as_many_as_asked_for_the_middle_among_them() -> None:
    assert len(propose(vertices_of(square()), 6)) == 6
    assert len(propose(vertices_of(square()), 1)) == 1


def test_few_vertices_are_all_kept() -> None:
    vertices = np.array([[1.5, 1.5], [5.5, 1.5], [3.5, 5.5]])
    assert len(propose(vertices, 6)) == 4


def test_each_point_is_the_farthest_from_those_before() -> None:
    line = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [10.0, 0.0]])
    assert farthest_points(line, 3).tolist() == [[0.0, 0.0], [10.0, 0.0], [4.0, 0.0]]


def test_vertices_are_pixel_centres_of_every_pixel_on_the_outline() -> None:
    vertices = vertices_of(square())
    assert len(vertices) == 4 * 19
    assert vertices.min() == 20.5
    assert vertices.max() == 39.5


def test_holes_belong_to_the_outline_and_specks_do_not() -> None:
    mask = square()
    mask[28:32, 28:32] = False
    mask[5, 5] = True
    vertices = vertices_of(mask)
    assert ((vertices > 26) & (vertices < 34)).all(axis=1).any()
    assert not (vertices < 10).all(axis=1).any()


def test_the_box_stands_in_for_an_empty_mask() -> None:
    thing = outline("cube", np.zeros((60, 80), dtype=np.bool_), (10.0, 20.0, 30.0, 50.0), 6)
    assert thing.empty
    assert thing.keypoints[0].tolist() == [20.0, 35.0]
    assert len(thing.keypoints) == 5
    assert thing.mask[20:50, 10:30].all()


def test_a_box_beyond_the_picture_is_cut() -> None:
    thing = outline("cube", np.zeros((60, 80), dtype=np.bool_), (-10.0, 20.0, 300.0, 500.0), 6)
    assert thing.box == (0.0, 20.0, 79.5, 59.5)
