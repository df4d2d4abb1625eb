"""Where a parallel gripper that comes from above can hold a solid."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rbench.geometry import Quaternion, matrix_quaternion
from rbench.scene import SceneObject

#: The middle of the pads stays this far (m) above the surface that the object stands on: half a pad and a little air.
LOWEST = 0.012
#: A grasp in the middle of an object is no farther than this (m) below its top, so that the hand stays clear of it.
DEEPEST = 0.035


@dataclass(frozen=True)
class Grasp:
    """A grasp from straight above.

    Attributes:
        angle: of the line between the fingers, rad from the base frame's x axis; in (-pi, 0], -pi/2 as at home.
        width: distance (m) between the faces that are held.
        height: of the pads' middle above the object's underside (m).
    """

    angle: float
    width: float
    height: float

    @property
    def quaternion(self) -> Quaternion:
        """The hand's orientation in the base frame."""
        return pointing_down(self.angle)


def pointing_down(angle: float) -> Quaternion:
    """The hand with its z axis straight down and its fingers in line with a direction `angle` (rad) about z."""
    c, s = math.cos(angle), math.sin(angle)
    return matrix_quaternion([[-s, c, 0.0], [c, s, 0.0], [0.0, 0.0, -1.0]])


def best_grasp(item: SceneObject, yaw: float) -> Grasp:
    """The grasp of an upright object that turns the hand least from its home orientation.

    Args:
        yaw: rotation of the object about the vertical in the base frame, rad.
    """
    height = grasp_height(item)
    if item.shape == "cylinder" and item.size[0] == item.size[1]:
        return Grasp(-math.pi / 2, item.size[0], height)
    grasps = [Grasp(_near_home(yaw + direction), width, height) for direction, width in _face_pairs(item, height)]
    return min(grasps, key=lambda grasp: (round(abs(grasp.angle + math.pi / 2), 6), grasp.width))


def grasp_height(item: SceneObject) -> float:
    """Height (m) of the pads' middle above the object's underside."""
    if item.shape == "pyramid":
        return LOWEST
    return max(LOWEST, item.size[2] / 2, item.size[2] - DEEPEST)


def _face_pairs(item: SceneObject, height: float) -> list[tuple[float, float]]:
    """Pairs of opposite faces: direction of their normal about the object's z axis (rad) and their distance (m)."""
    x, y, z = item.size
    if item.shape == "prism":
        # Corners at (+-x/2, 0) and (+-x/4, +-y/2): the slanted faces are farther apart than the straight ones
        # where the hexagon is not regular.
        slope = math.atan2(x / 2, y)
        slanted = x / 2 * y / math.hypot(x / 2, y)
        return [(math.pi / 2, y), (slope, 2 * slanted), (-slope, 2 * slanted)]
    share = 1.0 - height / z if item.shape == "pyramid" else 1.0
    return [(0.0, x * share), (math.pi / 2, y * share)]


def _near_home(angle: float) -> float:
    """The same line as an angle in (-pi, 0]: fingers are alike, so half a turn makes no difference."""
    return -((-angle) % math.pi)
