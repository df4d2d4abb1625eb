"""Boxes, labels and masks as models give them."""

from __future__ import annotations

import numpy as np
import pytest

from rbench_agent_moka.model_output import corners, detections, label_of, masks


def test_centre_and_size_in_fractions_become_corners_in_pixels() -> None:
    assert corners(np.array([[0.5, 0.5, 0.2, 0.4]]), 480, 640).tolist() == [[256, 144, 384, 336]]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("[CLS] red cube [SEP]", "red cube"),
        ("red cube.", "red cube"),
        ("pyra ##mid", "pyramid"),
        ("[CLS]", ""),
        ("", ""),
        (None, ""),
        ("[UNK] box", "box"),
    ],
)
def test_a_label_is_its_words(text: str | None, label: str) -> None:
    assert label_of(text) == label


def test_boxes_are_cut_at_the_edge_of_the_picture_and_sorted() -> None:
    found = detections(
        np.array([[-5.0, 2, 10, 20], [90, 90, 130, 101]]), np.array([0.4, 0.8]), ["a", "b"], (100, 120), 0.3
    )
    assert [(d.box, d.label) for d in found] == [((90, 90, 120, 100), "b"), ((0, 2, 10, 20), "a")]


@pytest.mark.parametrize("box", [[np.nan, 0, 5, 5], [0, 0, np.inf, 5], [5, 5, 5, 9], [8, 2, 3, 9], [200, 0, 210, 5]])
def test_what_is_no_box_in_the_picture_is_left_out(box: list[float]) -> None:
    assert detections(np.array([box]), np.array([0.9]), ["a"], (100, 120), 0.3) == []


def test_a_score_that_is_no_number_is_left_out() -> None:
    assert detections(np.array([[0.0, 0, 5, 5]]), np.array([np.nan]), ["a"], (100, 120), 0.3) == []


def test_no_boxes_are_no_detections() -> None:
    assert detections(np.zeros((0, 4)), np.zeros(0), [], (100, 120), 0.3) == []


@pytest.mark.parametrize("shape", [(2, 6, 8), (2, 1, 6, 8)])
def test_masks_come_with_one_axis_more_or_less(shape: tuple[int, ...]) -> None:
    found = masks(np.ones(shape, dtype=np.bool_), 2, (6, 8))
    assert [m.shape for m in found] == [(6, 8)] * 2


def test_numbers_above_zero_are_the_thing() -> None:
    (found,) = masks(np.array([[[-1.0, 2.0]]]), 1, (1, 2))
    assert found.tolist() == [[False, True]]


@pytest.mark.parametrize("shape", [(1, 6, 8), (2, 3, 6, 8), (2, 8, 6)])
def test_masks_of_another_shape_are_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="masks of shape"):
        masks(np.zeros(shape, dtype=np.bool_), 2, (6, 8))
