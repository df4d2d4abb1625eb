"""Pictures without a graphics library: a scene of oriented boxes, drawn by casting one ray a pixel.

Plain on purpose (no robot, no shadows, every solid is its bounding box), but geometrically exact: a pixel and
its depth, lifted with the camera's intrinsics and extrinsics, give the point that was drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from rbench.geometry import OPENGL_TO_OPENCV, Array, rotation_matrix
from rbench.observation import Intrinsics
from rbench.scene import Color, Receptacle, SceneDescription, Table

#: Depth (m) of what no ray meets.
FAR = 10.0
#: Towards the light, and the shares of a colour that a face turned away from it and one turned to it show.
_LIGHT = np.array([0.35, 0.25, 0.9]) / np.linalg.norm([0.35, 0.25, 0.9])
_DARK, _BRIGHT = 0.55, 0.95


@dataclass(frozen=True)
class Box:
    """A box to draw: the entity it belongs to, pose (4, 4) in the world frame, half extents (m), colour."""

    entity: str
    pose: Array
    half: tuple[float, float, float]
    color: Color


@dataclass(frozen=True)
class Picture:
    """What a camera sees.

    Attributes:
        rgb: (height, width, 3) uint8, upright.
        depth: (height, width) float32 metres along the optical axis.
        entity: (height, width) int: index into `entities`, -1 where there is nothing.
    """

    rgb: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.float32]
    entity: npt.NDArray[np.int64]
    entities: tuple[str, ...]


def boxes_of(scene: SceneDescription, poses: Mapping[str, Array]) -> list[Box]:
    """The boxes of a scene whose free bodies stand at `poses`: name -> (4, 4) in the world frame."""
    boxes = [_table(scene.table)]
    for item in scene.objects:
        x, y, z = item.size
        boxes.append(Box(item.name, poses[item.name], (x / 2, y / 2, z / 2), item.color))
    for receptacle in scene.receptacles:
        boxes.extend(_walls(receptacle, poses[receptacle.name]))
    return boxes


def draw(
    boxes: Sequence[Box], camera: Array, intrinsics: Intrinsics, height: int, width: int, background: Color
) -> Picture:
    """Draw boxes.

    Args:
        camera: pose (4, 4) of the camera in the world frame, OpenGL convention (it looks along -z).
    """
    to_world = camera[:3, :3] @ OPENGL_TO_OPENCV
    rays = _rays(to_world, intrinsics, height, width)
    depth = np.full((height, width), FAR, dtype=np.float32)
    color = np.tile(np.array(background, dtype=np.float32), (height, width, 1))
    owner = np.full((height, width), -1)
    entities = tuple(dict.fromkeys(box.entity for box in boxes))
    for box in boxes:
        part = _window(box, camera[:3, 3], to_world, intrinsics, height, width)
        distance, axis, sign = _meet(box, camera[:3, 3], rays[:, *part])
        nearer = distance < depth[part]
        depth[part][nearer] = distance[nearer]
        normals = box.pose[:3, :3].T @ _LIGHT
        facing = np.clip(normals[axis[nearer]] * sign[nearer], 0.0, 1.0)
        shade = (_DARK + (_BRIGHT - _DARK) * facing).astype(np.float32)
        color[part][nearer] = shade[:, None] * np.array(box.color, dtype=np.float32)
        owner[part][nearer] = entities.index(box.entity)
    return Picture(np.rint(color).astype(np.uint8), depth, owner, entities)


def _rays(to_world: Array, intrinsics: Intrinsics, height: int, width: int) -> npt.NDArray[np.float32]:
    """Directions (3, height, width) in the world frame, of length 1 along the optical axis: distance is depth."""
    u, v = np.meshgrid(np.arange(width), np.arange(height))
    local = np.stack(
        [
            ((u - intrinsics.cx) / intrinsics.fx).ravel(),
            ((v - intrinsics.cy) / intrinsics.fy).ravel(),
            np.ones(height * width),
        ]
    )
    return np.asarray(to_world @ local, dtype=np.float32).reshape(3, height, width)


def _window(
    box: Box, eye: Array, to_world: Array, intrinsics: Intrinsics, height: int, width: int
) -> tuple[slice, slice]:
    """The rows and columns of the picture in which a box can show."""
    corners = np.array(list(product((-1.0, 1.0), repeat=3))) * box.half
    x, y, z = to_world.T @ ((corners @ box.pose[:3, :3].T + box.pose[:3, 3]) - eye).T
    if z.min() <= 0:
        return slice(0, height), slice(0, width)
    u, v = intrinsics.fx * x / z + intrinsics.cx, intrinsics.fy * y / z + intrinsics.cy
    return (
        slice(*(int(min(max(edge, 0), height)) for edge in (floor(v.min()), ceil(v.max()) + 1))),
        slice(*(int(min(max(edge, 0), width)) for edge in (floor(u.min()), ceil(u.max()) + 1))),
    )


def _meet(
    box: Box, eye: Array, rays: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Where rays enter a box (Kay and Kajiya's slabs): distance (infinite: not at all), axis and sign of the face."""
    turn = box.pose[:3, :3].astype(np.float32)
    half = np.array(box.half, dtype=np.float32)[:, None]
    origin = (turn.T @ (eye - box.pose[:3, 3]).astype(np.float32))[:, None]
    direction = turn.T @ rays.reshape(3, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / direction
        near = (-np.copysign(half, direction) - origin) * inverse
        far = (np.copysign(half, direction) - origin) * inverse
    axis = near.argmax(axis=0)
    pixels = np.arange(direction.shape[1])
    enters, leaves = near[axis, pixels], far.min(axis=0)
    hit = (enters <= leaves) & (enters > 0)
    shape = rays.shape[1:]
    distance = np.where(hit, enters, np.float32(np.inf))
    return distance.reshape(shape), axis.reshape(shape), -np.sign(direction[axis, pixels]).reshape(shape)


def _table(table: Table) -> Box:
    pose = np.eye(4)
    pose[:3, 3] = (table.center[0], table.center[1], table.center[2] - table.thickness / 2)
    return Box("table", pose, (table.size[0] / 2, table.size[1] / 2, table.thickness / 2), table.texture.color)


def _walls(receptacle: Receptacle, pose: Array) -> list[Box]:
    """Floor and four walls of an open box, placed like `Receptacle` says."""
    x, y, z = receptacle.inner
    w = receptacle.wall
    parts = [
        ((0.0, 0.0, w / 2), (x / 2 + w, y / 2 + w, w / 2)),
        *(((s * (x + w) / 2, 0.0, w + z / 2), (w / 2, y / 2 + w, z / 2)) for s in (-1, 1)),
        *(((0.0, s * (y + w) / 2, w + z / 2), (x / 2, w / 2, z / 2)) for s in (-1, 1)),
    ]
    boxes = []
    for centre, half in parts:
        place = np.eye(4)
        place[:3, 3] = centre
        boxes.append(Box(receptacle.name, pose @ place, half, receptacle.color))
    return boxes


def pose_matrix(position: Array, quaternion: Array) -> Array:
    """A pose as a 4 x 4 matrix; quaternion (w, x, y, z)."""
    result = np.eye(4)
    result[:3, :3] = rotation_matrix(quaternion)
    result[:3, 3] = position
    return result
