"""Scene descriptions to compiled MuJoCo models, cached by structure.

Structure is what the compiler bakes into a model: shapes, sizes, masses, the robot, textures, which
cameras are mounted on the hand, which lights cast shadows. Everything else is a parameter
(`rbench.simulation.parameters`), written into the model at every reset. A model is compiled from the
structure alone, so it cannot remember the parameters of the scene that was built first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import cos, pi, sin
from typing import Any

import mujoco
import numpy as np

from rbench.errors import UsageError
from rbench.geometry import IDENTITY_POSE, Vec3
from rbench.scene import (
    MATTE,
    Camera,
    Headlight,
    Light,
    Receptacle,
    Robot,
    SceneDescription,
    SceneObject,
    Shape,
    Table,
    Texture,
)
from rbench.simulation import panda
from rbench.simulation.profiles import RenderProfile
from rbench.simulation.textures import TILE, tile, tile_width
from rbench.world_state import FLOOR, LEFT_FINGER, RIGHT_FINGER, ROBOT, TABLE

#: Physics steps a simulated second.
PHYSICS_RATE = 480
#: The floor lies this far (m) below the table top.
TABLE_HEIGHT = 0.75
BODY_PREFIX = "entity/"
_BLACK = (0, 0, 0)
_SOLREF, _SOLIMP = (0.004, 1.0), (0.95, 0.99, 0.001, 0.5, 2.0)


@dataclass(frozen=True)
class FreeBody:
    """Where a free body lives: body id, first geom and geom count, addresses in qpos and qvel."""

    body: int
    geoms: tuple[int, ...]
    qpos: int
    dof: int


@dataclass(frozen=True)
class CompiledScene:
    """A compiled model and its tables of names.

    Attributes:
        structure: the scene description with every parameter blanked.
        entity_of_geom: the entity that each geom belongs to, by geom id.
        bodies: free bodies (objects, then receptacles) by name.
        cameras: camera ids by name.
    """

    model: mujoco.MjModel
    structure: SceneDescription
    entity_of_geom: tuple[str, ...]
    bodies: Mapping[str, FreeBody]
    cameras: Mapping[str, int]


def structure_of(scene: SceneDescription) -> SceneDescription:
    """The scene with every parameter replaced by a constant: equal structures share a compiled model."""
    return replace(
        scene,
        name="",
        robot=replace(scene.robot, home=(0.0,) * 7, gripper=0.0),
        objects=tuple(
            replace(o, pose=IDENTITY_POSE, color=_BLACK, friction=1.0, material=MATTE) for o in scene.objects
        ),
        receptacles=tuple(replace(r, pose=IDENTITY_POSE, color=_BLACK, material=MATTE) for r in scene.receptacles),
        cameras=tuple(Camera(c.name, IDENTITY_POSE, mount=c.mount) for c in scene.cameras),
        lights=tuple(
            Light(li.name, (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), directional=li.directional, shadow=li.shadow)
            for li in scene.lights
        ),
        headlight=Headlight(),
        work_area=(0.0, 0.0, 0.0, 0.0),
    )


def compile_scene(scene: SceneDescription, profile: RenderProfile) -> CompiledScene:
    """The compiled model for the scene's structure; parameters are not written yet.

    The model is shared by every scene of that structure in this process.

    Raises:
        UsageError: an unknown robot, or two bodies or cameras with the same name.
    """
    return _compiled(structure_of(scene), profile)


@lru_cache(maxsize=16)
def _compiled(structure: SceneDescription, profile: RenderProfile) -> CompiledScene:
    _check_names(structure)
    spec = mujoco.MjSpec()
    _set_options(spec, structure, profile)
    _add_surroundings(spec, structure)
    panda.add_panda(spec, structure.robot)
    _add_pedestal(spec, structure.robot, structure.table)
    for item in structure.objects:
        _add_object(spec, item)
    for receptacle in structure.receptacles:
        _add_receptacle(spec, receptacle)
    for camera in structure.cameras:
        parent = spec.body(panda.HAND_BODY) if camera.mount == "hand" else spec.worldbody
        parent.add_camera(name=camera.name, fovy=camera.fovy)
    for light in structure.lights:
        kind = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL if light.directional else mujoco.mjtLightType.mjLIGHT_SPOT
        shadow = light.shadow and profile.shadow_size > 0
        spec.worldbody.add_light(name=light.name, type=kind, castshadow=shadow, cutoff=80, exponent=1)
    return _with_tables(spec.compile(), structure)


def _check_names(structure: SceneDescription) -> None:
    if structure.robot.model != "panda":
        raise UsageError(f"scene: robot model {structure.robot.model!r} is unknown; use 'panda'")
    reserved = {FLOOR, TABLE, ROBOT, LEFT_FINGER, RIGHT_FINGER}
    bodies = [item.name for item in (*structure.objects, *structure.receptacles)]
    for kind, names in (
        ("body", bodies),
        ("camera", [c.name for c in structure.cameras]),
        ("light", [li.name for li in structure.lights]),
    ):
        for name in names:
            if names.count(name) > 1 or (kind == "body" and name in reserved):
                raise UsageError(f"scene: the {kind} name {name!r} is taken; give every {kind} a name of its own")


def _set_options(spec: mujoco.MjSpec, structure: SceneDescription, profile: RenderProfile) -> None:
    option = spec.option
    option.timestep = 1.0 / PHYSICS_RATE
    # Measured on grasps of every shape: with pyramidal cones or the Euler integrator objects are dropped.
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio = 10.0
    spec.visual.quality.shadowsize = profile.shadow_size
    spec.visual.quality.offsamples = profile.multisamples
    spec.visual.map.znear, spec.visual.map.zfar = 0.01, 20.0
    # Clipping planes and the shadows of directional lights are in units of the extent; fixed, so that no object changes them.
    spec.stat.extent = 1.0
    x, y, z = structure.table.center
    spec.stat.center = (x, y, z)


def _add_surroundings(spec: mujoco.MjSpec, structure: SceneDescription) -> None:
    table = structure.table
    _add_texture(spec, TABLE, table.texture)
    _add_texture(spec, FLOOR, structure.floor)
    _add_skybox(spec, structure.background)
    x, y, z = table.center
    half_x, half_y = table.size[0] / 2, table.size[1] / 2
    floor_z = z - TABLE_HEIGHT
    spec.worldbody.add_geom(
        name=FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 0.05), pos=(0, 0, floor_z), material=FLOOR, **_SOLID
    )
    spec.worldbody.add_geom(
        name=TABLE,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=(half_x, half_y, table.thickness / 2),
        pos=(x, y, z - table.thickness / 2),
        material=TABLE,
        **_SOLID,
    )
    leg = 0.03
    height = TABLE_HEIGHT - table.thickness
    for number, (sx, sy) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        spec.worldbody.add_geom(
            name=f"{TABLE}/leg{number}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(leg, leg, height / 2),
            pos=(x + sx * (half_x - 2 * leg), y + sy * (half_y - 2 * leg), floor_z + height / 2),
            rgba=(0.35, 0.35, 0.37, 1),
            **_SOLID,
        )


_SOLID: dict[str, Any] = {
    "contype": panda.WORLD_BIT,
    "conaffinity": panda.WORLD_BIT | panda.ROBOT_BIT,
    "condim": 4,
    "friction": (1.0, 0.005, 0.0001),
    "solref": _SOLREF,
    "solimp": _SOLIMP,
}


def _add_pedestal(spec: mujoco.MjSpec, robot: Robot, table: Table) -> None:
    """A column under a robot that does not stand on the table."""
    x, y, z = robot.pose.position
    height = z - (table.center[2] - TABLE_HEIGHT)
    on_table = abs(x - table.center[0]) < table.size[0] / 2 and abs(y - table.center[1]) < table.size[1] / 2
    if on_table or height < 0.01:
        return
    spec.worldbody.add_geom(
        name="robot/pedestal",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=(0.1, 0.1, height / 2),
        pos=(x - 0.04, y, z - height / 2),
        rgba=(0.4, 0.4, 0.42, 1),
        **_SOLID,
    )


def _add_texture(spec: mujoco.MjSpec, name: str, texture: Texture) -> None:
    surface = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=TILE, height=TILE, nchannel=3)
    surface.data = tile(texture).tobytes()
    material = spec.add_material(name=name, rgba=(1, 1, 1, 1), specular=0.05, shininess=0.1, texuniform=True)
    repeat = 1.0 / tile_width(texture)
    material.texrepeat = (repeat, repeat)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name


def _add_skybox(spec: mujoco.MjSpec, texture: Texture) -> None:
    sky = spec.add_texture(
        name="background", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, width=TILE, height=6 * TILE, nchannel=3
    )
    sky.data = np.concatenate([tile(texture)] * 6).tobytes()


def _add_object(spec: mujoco.MjSpec, item: SceneObject) -> None:
    body = _add_free_body(spec, item.name)
    name = BODY_PREFIX + item.name
    x, y, z = item.size
    shape: dict[str, Any]
    if item.shape == "cube":
        shape = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": (x / 2, y / 2, z / 2)}
    elif item.shape == "cylinder" and x == y:
        shape = {"type": mujoco.mjtGeom.mjGEOM_CYLINDER, "size": (x / 2, z / 2, 0)}
    else:
        points = solid_vertices(item.shape, item.size)
        spec.add_mesh(name=name, uservert=[c for point in points for c in point])
        shape = {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": name}
    body.add_geom(name=name, mass=item.mass, material=name, **shape, **_SOLID)


def solid_vertices(shape: Shape, size: Vec3) -> list[Vec3]:
    """Corners (m) of a convex solid that fills its bounding box, centred; a cylinder has 48 sides."""
    x, y, z = (s / 2 for s in size)
    if shape == "pyramid":
        return [(x, y, -z), (-x, y, -z), (-x, -y, -z), (x, -y, -z), (0.0, 0.0, z)]
    if shape == "cube":
        return [(sx * x, sy * y, sz * z) for sx in (1, -1) for sy in (1, -1) for sz in (1, -1)]
    sides = 6 if shape == "prism" else 48
    corners = [(cos(2 * pi * k / sides), sin(2 * pi * k / sides)) for k in range(sides)]
    # A hexagon with corners on +-x is sqrt(3)/2 as wide in y as in x; stretch it to fill the box.
    reach = max(abs(s) for _, s in corners)
    return [(c * x, s / reach * y, sz * z) for c, s in corners for sz in (1, -1)]


def _add_receptacle(spec: mujoco.MjSpec, item: Receptacle) -> None:
    body = _add_free_body(spec, item.name)
    name = BODY_PREFIX + item.name
    boxes = receptacle_boxes(item.inner, item.wall)
    volumes = [a * b * c for (a, b, c), _ in boxes]
    for number, (half, center) in enumerate(boxes):
        body.add_geom(
            name=f"{name}/{number}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=half,
            pos=center,
            mass=item.mass * volumes[number] / sum(volumes),
            material=name,
            **_SOLID,
        )


def receptacle_boxes(inner: Vec3, wall: float) -> list[tuple[Vec3, Vec3]]:
    """Half sizes and centres (m) of a receptacle's floor, two walls across x and two across y."""
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


def _add_free_body(spec: mujoco.MjSpec, name: str) -> Any:
    spec.add_material(name=BODY_PREFIX + name)
    body = spec.worldbody.add_body(name=BODY_PREFIX + name)
    body.add_freejoint(name=BODY_PREFIX + name)
    return body


def _with_tables(model: mujoco.MjModel, structure: SceneDescription) -> CompiledScene:
    bodies = {}
    for item in (*structure.objects, *structure.receptacles):
        body = model.body(BODY_PREFIX + item.name)
        joint = int(body.jntadr[0])
        first, count = int(body.geomadr[0]), int(body.geomnum[0])
        geoms = tuple(range(first, first + count))
        bodies[item.name] = FreeBody(int(body.id), geoms, int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint]))
    entities = tuple(_entity(model.geom(number).name) for number in range(model.ngeom))
    cameras = {c.name: int(model.camera(c.name).id) for c in structure.cameras}
    return CompiledScene(model, structure, entities, bodies, cameras)


def _entity(geom: str) -> str:
    if geom.startswith(BODY_PREFIX):
        return geom.removeprefix(BODY_PREFIX).split("/")[0]
    for finger in (LEFT_FINGER, RIGHT_FINGER):
        if geom.startswith(panda.BODY_PREFIX + finger):
            return finger
    return geom.split("/")[0]
