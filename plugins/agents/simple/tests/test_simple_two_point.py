"""The published map from pixels to the robot: two measured points, one line an axis, heights fixed."""

from __future__ import annotations

import numpy as np
import pytest

from rbench.errors import UsageError
from rbench.simulation.cameras import intrinsics_of, opencv_extrinsics, project
from rbench.suites.scene_files import load_scene
from rbench_agent_simple.lifting import Box4
from rbench_agent_simple.two_point import measured

SIZE = 224


def boxed(x: float, y: float, camera: str = "front") -> Box4:
    """A box whose middle is where a point at half the object's height is seen by the baseline camera."""
    scene = load_scene("tabletop")
    view = scene.camera(camera)
    extrinsics = opencv_extrinsics(view.pose.matrix(), scene.robot.pose)
    ((u, v),) = project(np.array([[x, y, 0.025]]), intrinsics_of(view, SIZE, SIZE), extrinsics)
    return (u + 0.5 - 10, v + 0.5 - 10, u + 0.5 + 10, v + 0.5 + 10)


@pytest.mark.parametrize("camera", ["front", "left_top", "right_top"])
@pytest.mark.parametrize("point", [(0.36, -0.055), (0.59, 0.06)])
def test_the_two_measured_points_are_exact(camera: str, point: tuple[float, float]) -> None:
    assert measured(camera, SIZE, SIZE).place(boxed(*point, camera)) == pytest.approx(point, abs=1e-6)


def test_between_them_the_front_camera_is_off_by_perspective_only() -> None:
    x, y = measured("front", SIZE, SIZE).place(boxed(0.49, 0.04))
    assert abs(x - 0.49) < 0.02
    assert abs(y - 0.04) < 0.02


def test_an_axis_of_the_robot_follows_one_axis_of_the_picture() -> None:
    found = measured("front", SIZE, SIZE)
    x1, y1, x2, y2 = boxed(0.49, 0.04)
    moved_right, moved_down = found.place((x1 + 9, y1, x2 + 9, y2)), found.place((x1, y1 + 9, x2, y2 + 9))
    here = found.place((x1, y1, x2, y2))
    assert moved_right[0] == pytest.approx(here[0])
    assert moved_down[1] == pytest.approx(here[1])


def test_the_size_of_the_picture_does_not_matter() -> None:
    box = boxed(0.52, 0.0)
    doubled = tuple(2 * edge for edge in box)
    assert measured("front", 2 * SIZE, 2 * SIZE).place(doubled) == pytest.approx(  # type: ignore[arg-type]
        measured("front", SIZE, SIZE).place(box), abs=1e-6
    )


def test_heights_are_fixed() -> None:
    found = measured("front", SIZE, SIZE)
    start, end = found.lifted(boxed(0.49, 0.04), boxed(0.36, -0.055))
    assert (start.top[2], end.top[2]) == (0.05, 0.055)
    assert start.table == end.table == 0.0


@pytest.mark.parametrize("camera", ["wrist", "nowhere"])
def test_a_camera_on_which_it_was_not_measured_is_refused_by_name(camera: str) -> None:
    with pytest.raises(UsageError, match=f"{camera}.*another lift"):
        measured(camera, SIZE, SIZE)
