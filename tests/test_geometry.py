from __future__ import annotations

import math

import numpy as np
import pytest

from rbench.geometry import axis_angle, look_at, matrix_quaternion, multiply, quaternion_distance, rotation_matrix

Z = (0.0, 0.0, 1.0)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.0, math.pi])
def test_the_distance_of_two_rotations_is_the_angle_between_them(angle: float) -> None:
    start = axis_angle((0.6, 0.8, 0.0), 0.7)
    turned = multiply(axis_angle(Z, angle), start)
    assert quaternion_distance(start, turned) == pytest.approx(angle, abs=1e-12)
    assert quaternion_distance(start, tuple(-v for v in turned)) == pytest.approx(angle, abs=1e-12)


def test_a_turn_by_90_degrees_about_z_is_written_w_first() -> None:
    # Seen elsewhere: quaternions in the other order.
    assert axis_angle(Z, math.pi / 2) == pytest.approx((math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))
    assert rotation_matrix(axis_angle(Z, math.pi / 2)) @ [1, 0, 0] == pytest.approx([0, 1, 0])


def test_matrices_and_quaternions_convert_back_and_forth() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        q = rng.normal(size=4)
        q /= np.linalg.norm(q)
        assert quaternion_distance(matrix_quaternion(rotation_matrix(q)), q) < 1e-7


def test_a_camera_that_looks_at_a_point_has_it_on_its_axis() -> None:
    pose = look_at((1.0, 0.5, 0.8), (0.4, 0.0, 0.0))
    toward = np.array([0.4, 0.0, 0.0]) - np.array([1.0, 0.5, 0.8])
    local = rotation_matrix(pose.quaternion).T @ toward
    assert local[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert local[2] < 0
    assert rotation_matrix(pose.quaternion)[2, 0] == pytest.approx(0.0)  # the picture is level


def test_a_camera_cannot_look_along_its_up_axis() -> None:
    with pytest.raises(ValueError, match="up"):
        look_at((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
