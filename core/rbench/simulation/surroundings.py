"""Table, floor, background and the robot's pedestal as MuJoCo geoms, and the way back."""

from __future__ import annotations

import mujoco
import numpy as np

from rbench.geometry import vec3
from rbench.scene import Robot, SceneDescription, Table, Texture
from rbench.simulation.solids import SOLID
from rbench.simulation.textures import TILE, read_texture, tile, tile_width
from rbench.world_state import FLOOR, TABLE

#: The floor lies this far (m) below the table top.
TABLE_HEIGHT = 0.75
BACKGROUND = "background"
_LEG = 0.03


def add_surroundings(spec: mujoco.MjSpec, scene: SceneDescription) -> None:
    """Add the floor, a table on four legs, the sky and, under a robot that is not on the table, a pedestal."""
    table = scene.table
    _add_surface(spec, TABLE, table.texture)
    _add_surface(spec, FLOOR, scene.floor)
    sky = spec.add_texture(
        name=BACKGROUND, type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, width=TILE, height=6 * TILE, nchannel=3
    )
    sky.data = np.concatenate([tile(scene.background)] * 6).tobytes()
    x, y, z = table.center
    half_x, half_y = table.size[0] / 2, table.size[1] / 2
    floor_z = z - TABLE_HEIGHT
    spec.worldbody.add_geom(
        name=FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 0.05), pos=(0, 0, floor_z), material=FLOOR, **SOLID
    )
    spec.worldbody.add_geom(
        name=TABLE,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=(half_x, half_y, table.thickness / 2),
        pos=(x, y, z - table.thickness / 2),
        material=TABLE,
        **SOLID,
    )
    height = TABLE_HEIGHT - table.thickness
    for number, (sx, sy) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        spec.worldbody.add_geom(
            name=f"{TABLE}/leg{number}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(_LEG, _LEG, height / 2),
            pos=(x + sx * (half_x - 2 * _LEG), y + sy * (half_y - 2 * _LEG), floor_z + height / 2),
            rgba=(0.35, 0.35, 0.37, 1),
            **SOLID,
        )
    _add_pedestal(spec, scene.robot, table)


def read_table(model: mujoco.MjModel) -> Table:
    """The table as built."""
    geom = model.geom(TABLE)
    half_x, half_y, half_z = (float(v) for v in geom.size)
    x, y, z = (float(v) for v in geom.pos)
    return Table((x, y, z + half_z), (2 * half_x, 2 * half_y), read_surface(model, TABLE), 2 * half_z)


def read_surface(model: mujoco.MjModel, name: str) -> Texture:
    """The texture of the surface `table` or `floor` as built."""
    # MuJoCo keeps the repetition in single precision.
    width = round(1.0 / float(model.material(name).texrepeat[0]), 6)
    return read_texture(_pixels(model, name), width)


def read_background(model: mujoco.MjModel) -> Texture:
    """The background as built; it is infinitely far, so the size of its pattern has no trace."""
    texture = read_texture(_pixels(model, BACKGROUND), 1.0)
    return Texture(texture.kind, texture.color, texture.second)


def _add_surface(spec: mujoco.MjSpec, name: str, texture: Texture) -> None:
    image = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=TILE, height=TILE, nchannel=3)
    image.data = tile(texture).tobytes()
    repeat = 1.0 / tile_width(texture)
    material = spec.add_material(
        name=name, rgba=(1, 1, 1, 1), specular=0.05, shininess=0.1, texuniform=True, texrepeat=(repeat, repeat)
    )
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name


def _add_pedestal(spec: mujoco.MjSpec, robot: Robot, table: Table) -> None:
    x, y, z = vec3(robot.pose.position)
    height = z - (table.center[2] - TABLE_HEIGHT)
    on_table = abs(x - table.center[0]) < table.size[0] / 2 and abs(y - table.center[1]) < table.size[1] / 2
    if not on_table and height > 0.01:
        spec.worldbody.add_geom(
            name="robot/pedestal",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(0.1, 0.1, height / 2),
            pos=(x - 0.04, y, z - height / 2),
            rgba=(0.4, 0.4, 0.42, 1),
            **SOLID,
        )


def _pixels(model: mujoco.MjModel, texture: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    number = model.texture(texture).id
    first, count = model.tex_adr[number], TILE * TILE * 3
    return np.asarray(model.tex_data[first : first + count], dtype=np.uint8).reshape(TILE, TILE, 3)
