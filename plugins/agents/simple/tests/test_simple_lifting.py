"""Boxes in pictures become points in space: checked on depth images that are traced here, without a simulator."""

from __future__ import annotations

from math import cos, radians, sin

import numpy as np
import pytest

from rbench.geometry import OPENGL_TO_OPENCV, look_at
from rbench.observation import Intrinsics
from rbench_agent_simple.lifting import Cloud, Lifted, NoDepth, lifted

SIZE, FOCAL = 224, 250.0
LENS = Intrinsics(FOCAL, FOCAL, (SIZE - 1) / 2, (SIZE - 1) / 2)
TABLE = 0.1
#: Middle (x, y), half extents and height (m) of what stands on the table.
BLOCK = ((0.50, 0.02), (0.025, 0.025), 0.05)
WALL = ((0.42, 0.02), (0.005, 0.08), 0.09)


def camera(azimuth: float = 0.0, elevation: float = 45.0, distance: float = 0.5) -> np.ndarray:
    a, e = radians(azimuth), radians(elevation)
    eye = (0.5 + distance * cos(e) * cos(a), distance * cos(e) * sin(a), TABLE + distance * sin(e))
    pose = look_at(eye, (0.5, 0.0, TABLE)).matrix()
    pose[:3, :3] = pose[:3, :3] @ OPENGL_TO_OPENCV
    return pose


def traced(pose: np.ndarray, *blocks: tuple) -> tuple[np.ndarray, list[tuple[float, float, float, float]]]:
    """Depth image of a table with upright blocks, and the visible box of each block."""
    v, u = np.mgrid[0:SIZE, 0:SIZE]
    rays = LENS.rays(np.stack([u, v], axis=-1)) @ pose[:3, :3].T
    eye = pose[:3, 3]
    depth = np.where(rays[..., 2] < 0, (TABLE - eye[2]) / rays[..., 2], np.inf)
    owner = np.full((SIZE, SIZE), -1)
    for number, ((x, y), (hx, hy), height) in enumerate(blocks):
        low, high = np.array([x - hx, y - hy, TABLE]), np.array([x + hx, y + hy, TABLE + height])
        with np.errstate(divide="ignore"):
            a, b = (low - eye) / rays, (high - eye) / rays
        near, far = np.minimum(a, b).max(axis=-1), np.maximum(a, b).min(axis=-1)
        hit = (near < far) & (near > 0) & (near < depth)
        depth[hit], owner[hit] = near[hit], number
    boxes = []
    for number in range(len(blocks)):
        rows, columns = np.nonzero(owner == number)
        boxes.append((columns.min(), rows.min(), columns.max() + 1.0, rows.max() + 1.0))
    return depth.astype(np.float32), boxes


def error(found: Lifted, block: tuple) -> float:
    return float(np.hypot(found.top[0] - block[0][0], found.top[1] - block[0][1]))


@pytest.mark.parametrize("distance", [0.4, 0.6, 0.9])
@pytest.mark.parametrize("elevation", [35.0, 55.0, 80.0])
@pytest.mark.parametrize("azimuth", [-70.0, 0.0, 30.0, 110.0])
def test_the_middle_of_a_block_is_found_from_any_side(azimuth: float, elevation: float, distance: float) -> None:
    pose = camera(azimuth, elevation, distance)
    depth, (box,) = traced(pose, BLOCK)
    found = lifted(Cloud(depth, LENS, pose), box)
    assert error(found, BLOCK) < 0.003
    assert found.top[2] == pytest.approx(TABLE + BLOCK[2], abs=0.002)
    assert found.table == pytest.approx(TABLE, abs=0.001)


def test_the_published_point_lies_on_the_near_face() -> None:
    pose = camera()
    depth, (box,) = traced(pose, BLOCK)
    surface = lifted(Cloud(depth, LENS, pose), box).point("surface")
    assert surface[0] > BLOCK[0][0] + 0.01


def test_what_stands_behind_in_the_same_box_is_not_mixed_in() -> None:
    pose = camera(elevation=30.0)
    depth, (box, _) = traced(pose, BLOCK, WALL)
    x1, y1, x2, y2 = box
    found = lifted(Cloud(depth, LENS, pose), (x1 - 4, y1 - 12, x2 + 4, y2 + 2))
    assert error(found, BLOCK) < 0.003
    assert found.top[2] == pytest.approx(TABLE + BLOCK[2], abs=0.002)


def test_a_loose_box_does_no_harm() -> None:
    pose = camera(20.0)
    depth, ((x1, y1, x2, y2),) = traced(pose, BLOCK)
    found = lifted(Cloud(depth, LENS, pose), (x1 - 6, y1 - 5, x2 + 9, y2 + 4))
    assert error(found, BLOCK) < 0.003


def test_a_box_that_sticks_out_of_the_picture_is_cut() -> None:
    pose = camera()
    depth, _ = traced(pose, BLOCK)
    assert lifted(Cloud(depth, LENS, pose), (-5.0, -5.0, 40.0, 40.0)).table == pytest.approx(TABLE, abs=0.001)


def test_a_box_without_depth_is_said_to_have_none() -> None:
    depth = np.full((SIZE, SIZE), np.inf, dtype=np.float32)
    with pytest.raises(NoDepth):
        lifted(Cloud(depth, LENS, camera()), (10.0, 10.0, 50.0, 50.0))


def test_lifting_a_pixel_puts_its_centre_where_the_camera_saw_it() -> None:
    pose = camera(15.0)
    depth, _ = traced(pose, BLOCK)
    cloud = Cloud(depth, LENS, pose)
    local = (cloud.points[150, 60] - pose[:3, 3]) @ pose[:3, :3]
    assert local[0] / local[2] * FOCAL + LENS.cx == pytest.approx(60)
    assert local[1] / local[2] * FOCAL + LENS.cy == pytest.approx(150)
