"""Poses and rotations. Quaternions are (w, x, y, z), unit, as in MuJoCo; lengths in metres.

Camera frames come in two conventions and are named wherever they occur:

- *scene* cameras (`rbench.scene.Camera.pose`) follow OpenGL and MuJoCo: x right, y up,
  the camera looks along its -z axis;
- *observation* extrinsics follow OpenCV: x right, y down, the camera looks along +z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Vec3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

IDENTITY: Quaternion = (1.0, 0.0, 0.0, 0.0)

#: Turns an OpenGL camera frame into an OpenCV one (and back): y and z change sign.
OPENGL_TO_OPENCV = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class Pose:
    """A rigid pose: position (m) and unit quaternion (w, x, y, z) in the parent frame."""

    position: Vec3 = (0.0, 0.0, 0.0)
    quaternion: Quaternion = IDENTITY

    def matrix(self) -> Array:
        """The pose as a 4 x 4 homogeneous matrix that maps local to parent coordinates."""
        result = np.eye(4)
        result[:3, :3] = rotation_matrix(self.quaternion)
        result[:3, 3] = self.position
        return result


IDENTITY_POSE = Pose()


def vec3(values: Any) -> Vec3:
    """Three numbers as a tuple of plain floats."""
    x, y, z = (float(v) for v in values)
    return (x, y, z)


def quaternion(values: Any) -> Quaternion:
    """Four numbers as a unit quaternion of plain floats with w >= 0."""
    q = np.asarray(values, dtype=np.float64)
    q = q / np.linalg.norm(q)
    if q[0] < 0:
        q = -q
    return (float(q[0]), float(q[1]), float(q[2]), float(q[3]))


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """The rotation b followed by a (a * b)."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def axis_angle(axis: Vec3, angle: float) -> Quaternion:
    """Rotation by `angle` (rad) about the unit vector `axis`."""
    half = 0.5 * angle
    s = math.sin(half)
    return (math.cos(half), axis[0] * s, axis[1] * s, axis[2] * s)


def rotation_matrix(q: Any) -> Array:
    """3 x 3 rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrix_quaternion(matrix: Any) -> Quaternion:
    """Unit quaternion (w >= 0) of a 3 x 3 rotation matrix."""
    m = np.asarray(matrix, dtype=np.float64)
    # The eigenvector of the largest eigenvalue is accurate for every angle, unlike the trace formula.
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0.0, 0.0, 0.0],
            [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0.0, 0.0],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0.0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]],
        ]
    )
    _, vectors = np.linalg.eigh(k)
    x, y, z, w = vectors[:, -1]
    return quaternion((w, x, y, z))


def look_at(eye: Vec3, target: Vec3, up: Vec3 = (0.0, 0.0, 1.0)) -> Pose:
    """Pose of a scene camera (OpenGL frame) at `eye` whose optical axis meets `target`.

    Args:
        eye, target: metres, world frame.
        up: the direction that points up in the picture; must not be parallel to the axis.
    """
    backward = np.asarray(eye, dtype=np.float64) - np.asarray(target, dtype=np.float64)
    backward /= np.linalg.norm(backward)
    right = np.cross(np.asarray(up, dtype=np.float64), backward)
    norm = np.linalg.norm(right)
    if norm < 1e-9:
        raise ValueError("look_at: `up` is parallel to the viewing direction; give another `up`")
    right /= norm
    return Pose(vec3(eye), matrix_quaternion(np.column_stack([right, np.cross(backward, right), backward])))


def quaternion_distance(a: Any, b: Any) -> float:
    """Angle (rad) between two rotations given as unit quaternions."""
    p, q = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if float(p @ q) < 0.0:  # q and -q are the same rotation
        q = -q
    # Accurate near zero, where the arc cosine of the dot product is not.
    return 4.0 * math.atan2(float(np.linalg.norm(p - q)), float(np.linalg.norm(p + q)))
