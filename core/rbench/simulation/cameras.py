"""Camera geometry: optics, intrinsics, extrinsics, projection and lifting.

Pixel coordinates are (u, v): u to the right, v down, (0, 0) the centre of the upper left pixel. The
middle of an image of width W is therefore at u = (W - 1) / 2. Depth is metres along the optical axis.
"""

from __future__ import annotations

from dataclasses import replace
from math import radians, tan

import mujoco
import numpy as np

from rbench.geometry import OPENGL_TO_OPENCV, Array, Pose
from rbench.observation import Intrinsics
from rbench.scene import Camera

#: Size (m) of a sensor pixel in the model. Only ratios matter; this one is like a real sensor's.
_PIXEL = 1e-5


def intrinsics_of(camera: Camera, height: int, width: int) -> Intrinsics:
    """Pinhole intrinsics of a scene camera for an image of some size.

    A camera given by `fovy` keeps its vertical field of view and has square pixels. One given by focal lengths
    shows the same field whatever the size: when the ratio of the sides differs from that of `resolution`, the
    picture is stretched and fx, fy say so.
    """
    if camera.focal is None:
        focal = 0.5 * height / tan(0.5 * radians(camera.fovy))
        return Intrinsics(focal, focal, 0.5 * (width - 1), 0.5 * (height - 1))
    sx, sy = width / camera.resolution[1], height / camera.resolution[0]
    cx, cy = _principal(camera)
    # Scaling acts on pixel edges, half a pixel before the centres.
    return Intrinsics(camera.focal[0] * sx, camera.focal[1] * sy, (cx + 0.5) * sx - 0.5, (cy + 0.5) * sy - 0.5)


def extrinsics(model: mujoco.MjModel, data: mujoco.MjData, camera: str, base_pose: Pose) -> Array:
    """Camera-to-base transform (4, 4): OpenCV camera coordinates to robot base coordinates, metres."""
    number = model.camera(camera).id
    world = np.eye(4)
    world[:3, :3] = data.cam_xmat[number].reshape(3, 3)
    world[:3, 3] = data.cam_xpos[number]
    return opencv_extrinsics(world, base_pose)


def opencv_extrinsics(camera_to_world: Array, base_pose: Pose) -> Array:
    """Camera-to-base transform (4, 4) in OpenCV convention of a camera's pose (4, 4) in the OpenGL one."""
    result = np.linalg.inv(base_pose.matrix()) @ camera_to_world
    result[:3, :3] = result[:3, :3] @ OPENGL_TO_OPENCV
    return result


def project(points: Array, intrinsics: Intrinsics, extrinsics: Array) -> Array:
    """Pixels (n, 2) of points (n, 3) in the robot base frame; NaN for points behind the camera.

    Args:
        extrinsics: camera-to-base (4, 4), OpenCV convention.
    """
    local = (np.asarray(points, dtype=np.float64).reshape(-1, 3) - extrinsics[:3, 3]) @ extrinsics[:3, :3]
    z = np.where(local[:, 2] > 0, local[:, 2], np.nan)
    return np.column_stack(
        [intrinsics.fx * local[:, 0] / z + intrinsics.cx, intrinsics.fy * local[:, 1] / z + intrinsics.cy]
    )


def lift(pixels: Array, depth: Array, intrinsics: Intrinsics, extrinsics: Array) -> Array:
    """Points (n, 3) in the robot base frame of pixels (n, 2) with their metric depth (n,)."""
    pixels = np.asarray(pixels, dtype=np.float64).reshape(-1, 2)
    z = np.asarray(depth, dtype=np.float64).reshape(-1)
    local = np.column_stack(
        [(pixels[:, 0] - intrinsics.cx) / intrinsics.fx * z, (pixels[:, 1] - intrinsics.cy) / intrinsics.fy * z, z]
    )
    return np.asarray(local @ extrinsics[:3, :3].T + extrinsics[:3, 3])


def write_optics(model: mujoco.MjModel, number: int, camera: Camera) -> None:
    """Write the field of view, or focal lengths and principal point, of a camera into a model."""
    height, width = camera.resolution
    model.cam_resolution[number] = (width, height)
    model.cam_fovy[number] = camera.fovy
    if camera.focal is None:
        # Without a sensor MuJoCo draws by fovy.
        model.cam_sensorsize[number] = 0.0
        return
    cx, cy = _principal(camera)
    # MuJoCo's principal point is the way from the axis' pixel to the middle of the picture (found by experiment).
    offset = (0.5 * (width - 1) - cx, 0.5 * (height - 1) - cy)
    model.cam_sensorsize[number] = (width * _PIXEL, height * _PIXEL)
    model.cam_intrinsic[number] = (*(f * _PIXEL for f in camera.focal), *(o * _PIXEL for o in offset))


def read_optics(model: mujoco.MjModel, number: int, camera: Camera) -> Camera:
    """The camera with the optics found in a model, in the form that `camera` has them."""
    width, height = (int(n) for n in model.cam_resolution[number])
    found = replace(camera, resolution=(height, width), fovy=float(model.cam_fovy[number]), focal=None, principal=None)
    if not model.cam_sensorsize[number].any():
        return found
    fx, fy, px, py = (float(value) / _PIXEL for value in model.cam_intrinsic[number])
    principal = (0.5 * (width - 1) - px, 0.5 * (height - 1) - py)
    return replace(found, focal=(fx, fy), principal=None if camera.principal is None else principal)


def _principal(camera: Camera) -> tuple[float, float]:
    if camera.principal is not None:
        return camera.principal
    height, width = camera.resolution
    return (0.5 * (width - 1), 0.5 * (height - 1))
