"""Scene parameters into a compiled model, and a scene description back out of a model.

`write_parameters` writes every field that `compile.structure_of` blanks, so a model never keeps anything
of the scene that it showed before. `read_scene` reads the model's own arrays; it takes nothing from what
was asked for, except what has no trace in a simulator.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from rbench.errors import UsageError
from rbench.geometry import Array, Pose, quaternion, vec3
from rbench.scene import (
    Camera,
    Color,
    Headlight,
    Light,
    Material,
    Receptacle,
    Robot,
    SceneDescription,
    SceneObject,
)
from rbench.simulation.cameras import read_optics, write_optics
from rbench.simulation.compile import CompiledScene, FreeBody, free_bodies
from rbench.simulation.control import finger_width, gripper_of
from rbench.simulation.panda import LOWER, UPPER
from rbench.simulation.solids import read_receptacle, read_solid
from rbench.simulation.surroundings import read_background, read_surface, read_table
from rbench.world_state import FLOOR


def write_parameters(compiled: CompiledScene, data: mujoco.MjData, scene: SceneDescription) -> None:
    """Write colours, materials, friction, cameras and lights into the model, and poses and joints into the data.

    Raises:
        UsageError: the robot's home is not seven joint angles within their limits.
    """
    model = compiled.model
    _check_home(scene.robot)
    for item in free_bodies(scene):
        body = compiled.bodies[item.name]
        _write_look(model, body, item.color, item.material)
        data.qpos[body.qpos : body.qpos + 7] = (*item.pose.position, *item.pose.quaternion)
    for item in scene.objects:
        model.geom_friction[compiled.bodies[item.name].geoms[0], 0] = item.friction
    for camera in scene.cameras:
        number = compiled.cameras[camera.name]
        model.cam_pos[number] = camera.pose.position
        model.cam_quat[number] = _unit(camera.pose.quaternion)
        write_optics(model, number, camera)
    for light in scene.lights:
        _write_light(model, compiled.lights[light.name], light)
    headlight = model.vis.headlight
    headlight.ambient = scene.headlight.ambient
    headlight.diffuse = scene.headlight.diffuse
    headlight.specular = scene.headlight.specular
    width = finger_width(scene.robot.gripper)
    data.qpos[:9] = (*scene.robot.home, width, width)


def read_scene(compiled: CompiledScene, data: mujoco.MjData, asked: SceneDescription) -> SceneDescription:
    """The scene description recovered from a model and its state.

    Args:
        asked: gives what a simulator does not hold: the scene's name, work area, and of each camera whether it is a
            viewpoint camera and where it was mounted before it was moved.
    """
    model = compiled.model
    headlight = model.vis.headlight
    return SceneDescription(
        name=asked.name,
        robot=_read_robot(compiled, data),
        table=read_table(model),
        objects=tuple(_read_object(model, data, o.name, compiled.bodies[o.name]) for o in asked.objects),
        receptacles=tuple(_read_receptacle(model, data, r.name, compiled.bodies[r.name]) for r in asked.receptacles),
        cameras=tuple(_read_camera(compiled, camera) for camera in asked.cameras),
        lights=tuple(_read_light(model, light.name, compiled.lights[light.name]) for light in asked.lights),
        headlight=Headlight(_number(headlight.ambient), _number(headlight.diffuse), _number(headlight.specular)),
        floor=read_surface(model, FLOOR),
        background=read_background(model),
        work_area=asked.work_area,
    )


def _check_home(robot: Robot) -> None:
    inside = len(robot.home) == len(LOWER) and all(
        low <= angle <= high for low, angle, high in zip(LOWER, robot.home, UPPER, strict=True)
    )
    if not inside or not 0.0 <= robot.gripper <= 1.0:
        raise UsageError(
            f"scene: robot home {robot.home} with gripper {robot.gripper} is not possible; give {len(LOWER)} joint"
            f" angles between {LOWER} and {UPPER} rad, and a gripper from 0 (open) to 1 (closed)"
        )


def _write_look(model: mujoco.MjModel, body: FreeBody, color: Color, material: Material) -> None:
    geoms = list(body.geoms)
    number = model.geom_matid[geoms[0]]
    rgba = (color[0] / 255, color[1] / 255, color[2] / 255, 1.0)
    # A geom's own colour wins over its material's unless it is MuJoCo's default grey: both are written.
    model.geom_rgba[geoms] = rgba
    model.mat_rgba[number] = rgba
    model.mat_specular[number] = material.specular
    model.mat_shininess[number] = material.shininess
    model.mat_reflectance[number] = material.reflectance


def _write_light(model: mujoco.MjModel, number: int, light: Light) -> None:
    model.light_pos[number] = light.position
    model.light_dir[number] = _unit(light.direction)
    model.light_diffuse[number] = light.diffuse
    model.light_ambient[number] = light.ambient
    model.light_specular[number] = light.specular


def _read_robot(compiled: CompiledScene, data: mujoco.MjData) -> Robot:
    base = compiled.model.body("robot/link0")
    home = tuple(float(q) for q in data.qpos[:7])
    return Robot("panda", home, Pose(vec3(base.pos), quaternion(base.quat)), gripper_of(data.qpos[7], data.qpos[8]))


def _read_object(model: mujoco.MjModel, data: mujoco.MjData, name: str, body: FreeBody) -> SceneObject:
    geom = body.geoms[0]
    shape, size = read_solid(model, geom)
    return SceneObject(
        name=name,
        shape=shape,
        size=size,
        pose=_read_pose(data, body),
        color=_read_color(model, geom),
        mass=float(model.body_mass[body.body]),
        friction=float(model.geom_friction[geom, 0]),
        material=_read_material(model, geom),
    )


def _read_receptacle(model: mujoco.MjModel, data: mujoco.MjData, name: str, body: FreeBody) -> Receptacle:
    inner, wall = read_receptacle(model, body.geoms)
    return Receptacle(
        name=name,
        inner=inner,
        wall=wall,
        pose=_read_pose(data, body),
        color=_read_color(model, body.geoms[0]),
        mass=float(model.body_mass[body.body]),
        material=_read_material(model, body.geoms[0]),
    )


def _read_pose(data: mujoco.MjData, body: FreeBody) -> Pose:
    values = data.qpos[body.qpos : body.qpos + 7]
    return Pose(vec3(values[:3]), quaternion(values[3:]))


def _read_color(model: mujoco.MjModel, geom: int) -> Color:
    red, green, blue = (round(255 * float(c)) for c in model.geom_rgba[geom, :3])
    return (red, green, blue)


def _read_material(model: mujoco.MjModel, geom: int) -> Material:
    number = model.geom_matid[geom]
    return Material(
        _number(model.mat_specular[number]),
        _number(model.mat_shininess[number]),
        _number(model.mat_reflectance[number]),
    )


def _read_camera(compiled: CompiledScene, asked: Camera) -> Camera:
    model, number = compiled.model, compiled.cameras[asked.name]
    on_hand = model.cam_bodyid[number] == compiled.hand
    found = replace(
        asked,
        pose=Pose(vec3(model.cam_pos[number]), quaternion(model.cam_quat[number])),
        mount="hand" if on_hand else "world",
    )
    return read_optics(model, number, found)


def _read_light(model: mujoco.MjModel, name: str, number: int) -> Light:
    return Light(
        name=name,
        position=vec3(model.light_pos[number]),
        direction=vec3(model.light_dir[number]),
        diffuse=_number(model.light_diffuse[number]),
        ambient=_number(model.light_ambient[number]),
        specular=_number(model.light_specular[number]),
        directional=bool(model.light_type[number] == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL),
        shadow=bool(model.light_castshadow[number]),
    )


def _unit(values: Any) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    return np.asarray(vector / np.linalg.norm(vector))


def _number(value: Any) -> float:
    """The decimal number that was written into MuJoCo's single-precision field (the first channel of a colour)."""
    return float(str(np.float32(np.ravel(value)[0])))
