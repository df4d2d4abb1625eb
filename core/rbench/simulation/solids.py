"""Free bodies as MuJoCo geoms: solids and open receptacles, and the way back from a model's geoms."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

import mujoco
import numpy as np

from rbench.geometry import Array, Vec3, rotation_matrix, vec3
from rbench.scene import Receptacle, SceneObject, Shape
from rbench.simulation.panda import ROBOT_BIT, WORLD_BIT

BODY_PREFIX = "entity/"
#: Sides of a cylinder whose base is an ellipse, for which MuJoCo has no primitive.
ELLIPSE_SIDES = 48

#: How everything but the robot collides. Stiff contacts (twice the physics step, the shortest that is stable) keep
#: an object at rest within micrometres of the surface it stands on.
SOLID: dict[str, Any] = {
    "contype": WORLD_BIT,
    "conaffinity": WORLD_BIT | ROBOT_BIT,
    "condim": 4,
    "friction": (1.0, 0.005, 0.0001),
    "solref": (0.005, 1.0),
    "solimp": (0.95, 0.99, 0.001, 0.5, 2.0),
}

#: Where two geoms touch, the friction is that of the one of higher priority, and of equals the larger. So an object
#: slides on table, floor and receptacles (0) as its own friction says, while the fingertips hold as their pads say.
OBJECT_PRIORITY = 1


def add_object(spec: mujoco.MjSpec, item: SceneObject) -> None:
    """Add a free solid `entity/NAME` with one geom and a material of its own."""
    name = BODY_PREFIX + item.name
    x, y, z = item.size
    shape: dict[str, Any]
    if item.shape == "cube":
        shape = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": (x / 2, y / 2, z / 2)}
    elif item.shape == "cylinder" and x == y:
        shape = {"type": mujoco.mjtGeom.mjGEOM_CYLINDER, "size": (x / 2, z / 2, 0)}
    else:
        corners = solid_vertices(item.shape, item.size)
        spec.add_mesh(name=name, uservert=[c for corner in corners for c in corner])
        shape = {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": name}
    _add_free_body(spec, name).add_geom(
        name=name, mass=item.mass, material=name, priority=OBJECT_PRIORITY, **shape, **SOLID
    )


def add_receptacle(spec: mujoco.MjSpec, item: Receptacle) -> None:
    """Add a free open box `entity/NAME` of five geoms that share its mass by volume."""
    name = BODY_PREFIX + item.name
    body = _add_free_body(spec, name)
    boxes = receptacle_boxes(item.inner, item.wall)
    volumes = [a * b * c for (a, b, c), _ in boxes]
    for number, (half, center) in enumerate(boxes):
        mass = item.mass * volumes[number] / sum(volumes)
        body.add_geom(
            name=f"{name}/{number}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=half,
            pos=center,
            mass=mass,
            material=name,
            **SOLID,
        )


def solid_vertices(shape: Shape, size: Vec3) -> list[Vec3]:
    """Corners (m) of a convex solid that fills its bounding box, in the box's middle frame."""
    x, y, z = (s / 2 for s in size)
    if shape == "cube":
        return [(sx * x, sy * y, sz * z) for sx in (1, -1) for sy in (1, -1) for sz in (1, -1)]
    if shape == "pyramid":
        return [(x, y, -z), (-x, y, -z), (-x, -y, -z), (x, -y, -z), (0.0, 0.0, z)]
    sides = 6 if shape == "prism" else ELLIPSE_SIDES
    corners = [(cos(2 * pi * k / sides), sin(2 * pi * k / sides)) for k in range(sides)]
    # A hexagon with corners on +-x is sqrt(3)/2 as wide in y as in x: stretched to fill the bounding box.
    reach = max(abs(s) for _, s in corners)
    return [(c * x, s / reach * y, sz * z) for c, s in corners for sz in (1, -1)]


def receptacle_boxes(inner: Vec3, wall: float) -> list[tuple[Vec3, Vec3]]:
    """Half sizes and centres (m) of a receptacle's floor, its two walls across x and its two across y."""
    x, y, z = inner[0] / 2, inner[1] / 2, inner[2]
    w = wall / 2
    side = w * 2 + z / 2
    return [
        ((x + wall, y + wall, w), (0.0, 0.0, w)),
        ((w, y + wall, z / 2), (x + w, 0.0, side)),
        ((w, y + wall, z / 2), (-x - w, 0.0, side)),
        ((x, w, z / 2), (0.0, y + w, side)),
        ((x, w, z / 2), (0.0, -y - w, side)),
    ]


def read_solid(model: mujoco.MjModel, geom: int) -> tuple[Shape, Vec3]:
    """Shape and bounding box (m) of an object's geom, from its type and, for a mesh, its vertices."""
    kind = model.geom_type[geom]
    half = model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return "cube", vec3(2 * half)
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return "cylinder", vec3((2 * half[0], 2 * half[0], 2 * half[1]))
    corners = _mesh_corners(model, geom)
    shapes: dict[int, Shape] = {5: "pyramid", 12: "prism", 2 * ELLIPSE_SIDES: "cylinder"}
    return shapes[len(corners)], vec3(np.round(np.ptp(corners, axis=0), 7))


def read_receptacle(model: mujoco.MjModel, geoms: Sequence[int]) -> tuple[Vec3, float]:
    """Inner extents and wall thickness (m) of a receptacle's geoms, in the order of `receptacle_boxes`."""
    floor, across_x, _, across_y, _ = model.geom_size[list(geoms)]
    wall = 2 * across_x[0]
    return vec3((2 * across_y[0], 2 * (floor[1] - wall), 2 * across_x[2])), float(wall)


def _mesh_corners(model: mujoco.MjModel, geom: int) -> Array:
    """Vertices (n, 3) of a mesh geom in its body's frame; MuJoCo keeps them in the mesh's inertial frame."""
    mesh = model.geom_dataid[geom]
    first = model.mesh_vertadr[mesh]
    vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
    turned = vertices @ rotation_matrix(model.geom_quat[geom]).T
    return np.asarray(turned + model.geom_pos[geom], dtype=np.float64)


def _add_free_body(spec: mujoco.MjSpec, name: str) -> Any:
    spec.add_material(name=name)
    body = spec.worldbody.add_body(name=name)
    body.add_freejoint(name=name)
    return body
