"""Scene descriptions into the simulator and back."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from rbench.errors import UsageError
from rbench.geometry import Array, Pose, axis_angle, look_at
from rbench.scene import (
    Camera,
    Headlight,
    Light,
    Material,
    Receptacle,
    SceneDescription,
    SceneObject,
    Setup,
    Shape,
    Texture,
)
from rbench.simulation.compile import compile_scene, free_bodies, structure_of
from rbench.simulation.profiles import render_profile
from rbench.simulation.solids import solid_vertices
from rbench.simulation.textures import read_texture, tile, tile_width
from rbench.simulation.world import MujocoWorld
from rbench.values import to_plain


def _differences(asked: object, found: object, path: str = "") -> list[str]:
    """Paths at which two plain trees differ by more than rounding and settling."""
    if isinstance(asked, dict) and isinstance(found, dict):
        return [d for key in asked for d in _differences(asked[key], found[key], f"{path}.{key}")]
    if isinstance(asked, list) and isinstance(found, list) and len(asked) == len(found):
        return [
            d for i, (a, b) in enumerate(zip(asked, found, strict=True)) for d in _differences(a, b, f"{path}[{i}]")
        ]
    if isinstance(asked, float) and isinstance(found, float):
        return [] if abs(asked - found) < 1e-4 else [f"{path}: {asked} != {found}"]
    return [] if asked == found else [f"{path}: {asked} != {found}"]


def _strange(scene: SceneDescription) -> SceneDescription:
    """The scene with every parameter changed, its structure kept."""
    item, box = scene.objects[0], scene.receptacles[0]
    return replace(
        scene,
        robot=replace(scene.robot, home=(0.3, -0.6, 0.1, -2.2, 0.2, 1.7, 0.5), gripper=0.4),
        objects=(
            replace(
                item,
                pose=Pose((0.55, 0.02, 0.025), axis_angle((0.0, 0.0, 1.0), 0.3)),
                color=(12, 34, 56),
                friction=0.7,
                material=Material(0.6, 0.7, 0.1),
            ),
        ),
        receptacles=(replace(box, pose=Pose((0.37, -0.04, 0.0)), color=(1, 2, 3), material=Material(0.3, 0.4, 0.0)),),
        cameras=tuple(
            replace(c, pose=look_at((1.0, 0.3, 0.5), (0.5, 0.0, 0.0)), fovy=30.0, resolution=(120, 160))
            if c.mount == "world"
            else replace(c, fovy=60.0, pose=Pose((0.05, 0.01, 0.03), c.pose.quaternion))
            for c in scene.cameras
        ),
        lights=tuple(
            replace(li, position=(0.1, 0.2, 2.0), direction=(0.0, 0.6, -0.8), diffuse=0.25, ambient=0.1, specular=0.2)
            for li in scene.lights
        ),
        headlight=Headlight(0.1, 0.2, 0.05),
    )


def _model_bytes(world: MujocoWorld) -> bytes:
    buffer = np.empty(mujoco.mj_sizeModel(world.model), dtype=np.uint8)
    mujoco.mj_saveModel(world.model, None, buffer)
    return buffer.tobytes()


def test_what_was_built_is_what_was_asked(world: MujocoWorld, tabletop: SceneDescription) -> None:
    for scene in (tabletop, _strange(tabletop)):
        unit = replace(scene, lights=tuple(replace(li, direction=_unit(li.direction)) for li in scene.lights))
        world.reset(Setup(scene, ""), control_rate=20, cameras={})
        assert _differences(to_plain(unit), to_plain(world.read_scene())) == []


def test_parameters_share_one_structure(tabletop: SceneDescription) -> None:
    assert structure_of(_strange(tabletop)) == structure_of(tabletop)


def test_changed_parameters_leave_no_trace(world: MujocoWorld, tabletop: SceneDescription) -> None:
    world.reset(Setup(tabletop, ""), control_rate=20, cameras={})
    model, state = _model_bytes(world), world.fingerprint()
    world.reset(Setup(_strange(tabletop), ""), control_rate=20, cameras={})
    assert _model_bytes(world) != model
    world.reset(Setup(tabletop, ""), control_rate=20, cameras={})
    assert _model_bytes(world) == model
    assert world.fingerprint() == state


def test_reading_looks_at_the_simulator_not_at_what_was_asked(started: MujocoWorld) -> None:
    body = started._stage.compiled.bodies["geometry"]
    started.model.geom_rgba[body.geoms[0], :3] = (0.0, 1.0, 0.0)
    started.model.cam_fovy[:] = 12.5
    started.data.qpos[body.qpos] = 0.6
    found = started.read_scene()
    assert found.objects[0].color == (0, 255, 0)
    assert {camera.fovy for camera in found.cameras} == {12.5}
    assert found.objects[0].pose.position[0] == 0.6


def _sliding_friction(world: MujocoWorld, position: Array) -> dict[str, float]:
    """What the object's contacts have when it is put there: by the name of the other geom."""
    model, data = world.model, world.data
    body = world._stage.compiled.bodies["geometry"]
    data.qpos[body.qpos : body.qpos + 3] = position
    mujoco.mj_forward(model, data)
    own = body.geoms[0]
    return {
        model.geom(contact.geom2 if contact.geom1 == own else contact.geom1).name: float(contact.friction[0])
        for contact in data.contact
        if own in (contact.geom1, contact.geom2)
    }


@pytest.mark.parametrize("friction", [0.01, 1.0, 3.0])
def test_the_friction_of_an_object_is_that_of_its_contacts_but_not_of_a_grasp(
    world: MujocoWorld, tabletop: SceneDescription, friction: float
) -> None:
    item, box = replace(tabletop.objects[0], friction=friction), tabletop.receptacles[0]
    scene = replace(tabletop.with_object(item), robot=replace(tabletop.robot, gripper=0.6))
    world.reset(Setup(scene, ""), control_rate=20, cameras={})
    assert world.read_scene().objects[0].friction == friction
    assert _sliding_friction(world, np.array(item.pose.position)) == {"table": friction}
    in_the_box = box.pose.position + np.array([0.0, 0.0, box.wall + 0.0249])
    assert _sliding_friction(world, in_the_box) == {"entity/box/0": friction}
    held = _sliding_friction(world, world.data.site("robot/fingertip").xpos)
    assert held["robot/left_finger_pad"] == held["robot/right_finger_pad"] == 1.5


def test_a_slippery_object_slides_where_another_stops(world: MujocoWorld, tabletop: SceneDescription) -> None:
    travelled = []
    for friction in (0.01, 1.0):
        item = replace(tabletop.objects[0], friction=friction)
        world.reset(Setup(tabletop.with_object(item), ""), control_rate=20, cameras={})
        body = world._stage.compiled.bodies["geometry"]
        start = world.data.qpos[body.qpos]
        world.data.joint("entity/geometry").qvel[0] = 0.3
        for _ in range(120):
            mujoco.mj_step(world.model, world.data)
        travelled.append(world.data.qpos[body.qpos] - start)
    # 0.3 m/s stop after v^2 / (2 mu g), which is 5 mm at 1.0; at 0.01 nearly 75 mm are made in a quarter of a second.
    assert travelled[0] > 0.06
    assert travelled[1] < 0.01


@pytest.mark.parametrize("shape", ["cube", "cylinder", "pyramid", "prism"])
@pytest.mark.parametrize("size", [(0.05, 0.05, 0.05), (0.04, 0.05, 0.06)])
def test_every_shape_is_recognised_with_its_size(
    world: MujocoWorld, tabletop: SceneDescription, shape: Shape, size: tuple[float, float, float]
) -> None:
    pose = Pose((0.49, 0.04, size[2] / 2))
    item = replace(tabletop.objects[0], shape=shape, size=size, pose=pose)
    world.reset(Setup(tabletop.with_object(item), ""), control_rate=20, cameras={})
    found = world.read_scene().objects[0]
    assert found.shape == shape
    assert found.size == pytest.approx(size, abs=1e-6)
    assert found.mass == pytest.approx(item.mass)


@pytest.mark.parametrize("shape", ["cube", "cylinder", "pyramid", "prism"])
def test_a_solid_fills_its_bounding_box(shape: Shape) -> None:
    corners: Array = np.array(solid_vertices(shape, (0.04, 0.05, 0.06)))
    assert np.ptp(corners, axis=0) == pytest.approx((0.04, 0.05, 0.06))
    assert (corners.max(axis=0) + corners.min(axis=0)) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_scenes_of_many_parts_are_built(world: MujocoWorld, tabletop: SceneDescription) -> None:
    shapes: tuple[Shape, ...] = ("cube", "cylinder", "pyramid", "prism")
    blue = (0, 0, 255)
    scene = replace(
        tabletop,
        objects=tuple(
            SceneObject(f"{shape}-{row}", shape, (0.03, 0.03, 0.03), Pose((0.5 + 0.06 * i, 0.06 * row, 0.015)), blue)
            for row in (0, 1)
            for i, shape in enumerate(shapes)
        ),
        receptacles=tuple(
            Receptacle(f"box-{i}", (0.08, 0.1, 0.04), 0.005, Pose((0.4, -0.2 * i, 0.0)), (9, 9, 9)) for i in (1, 2)
        ),
        cameras=(*tabletop.cameras, Camera("extra", look_at((0.5, 0.5, 0.5), (0.5, 0.0, 0.0)), focal=(300.0, 300.0))),
        lights=(*tabletop.lights, Light("lamp", (0.5, 0.0, 1.0), (0.0, 0.0, -1.0), directional=False, shadow=False)),
        floor=Texture("checker", (1, 2, 3), (4, 5, 6), 0.3),
    )
    world.reset(Setup(scene, ""), control_rate=20, cameras={})
    found = world.read_scene()
    assert [o.name for o in found.objects] == [o.name for o in scene.objects]
    assert [o.shape for o in found.objects] == [o.shape for o in scene.objects]
    assert found.receptacles[1].inner == pytest.approx((0.08, 0.1, 0.04))
    assert found.lights[-1].directional is False
    assert found.floor == scene.floor
    assert set(world.state().bodies) == {body.name for body in free_bodies(scene)}


def test_a_robot_on_another_base_reports_in_its_base_frame(world: MujocoWorld, tabletop: SceneDescription) -> None:
    turned = Pose((0.0, 0.1, 0.0), axis_angle((0.0, 0.0, 1.0), 0.4))
    world.reset(Setup(tabletop, ""), control_rate=20, cameras={})
    expected = world.state().robot
    moved = replace(tabletop, robot=replace(tabletop.robot, pose=turned))
    world.reset(Setup(moved, ""), control_rate=20, cameras={})
    found = world.state().robot
    assert found.end_effector_position == pytest.approx(expected.end_effector_position, abs=1e-6)
    assert found.end_effector_quaternion == pytest.approx(expected.end_effector_quaternion, abs=1e-6)
    assert world.robot.base == turned
    assert world.read_scene().robot.pose.position == pytest.approx(turned.position)


@pytest.mark.parametrize("kind", ["flat", "checker", "noise"])
def test_textures_are_read_back_from_their_pixels(kind: str) -> None:
    texture = Texture(kind, (10, 200, 30), (128, 128, 128), 0.05)  # type: ignore[arg-type]
    found = read_texture(tile(texture), tile_width(texture))
    expected = Texture("flat", texture.color) if kind == "flat" else texture
    assert replace(found, size=round(found.size, 9)) == expected


def test_a_name_that_is_given_twice_is_refused(tabletop: SceneDescription) -> None:
    twice = replace(tabletop, objects=tabletop.objects * 2)
    with pytest.raises(UsageError, match="body name 'geometry' is taken"):
        compile_scene(twice, render_profile("fast"))


def test_an_unknown_robot_is_refused(tabletop: SceneDescription) -> None:
    unknown = replace(tabletop, robot=replace(tabletop.robot, model="ur5"))
    with pytest.raises(UsageError, match="'ur5' is unknown; use 'panda'"):
        compile_scene(unknown, render_profile("fast"))


def test_what_mujoco_cannot_build_is_refused_with_its_reason(tabletop: SceneDescription) -> None:
    flat = replace(tabletop.objects[0], size=(0.05, 0.05, 0.0))
    with pytest.raises(UsageError, match=r"cannot build it .*check sizes and masses"):
        compile_scene(tabletop.with_object(flat), render_profile("fast"))


@pytest.mark.parametrize("home", [(0.0,) * 7, (0.0,) * 6, (9.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8)])
def test_an_impossible_home_is_refused(world: MujocoWorld, tabletop: SceneDescription, home: tuple[float, ...]) -> None:
    scene = replace(tabletop, robot=replace(tabletop.robot, home=home))
    with pytest.raises(UsageError, match=r"robot home .* is not possible; give 7 joint angles"):
        world.reset(Setup(scene, ""), control_rate=20, cameras={})


def _unit(direction: tuple[float, float, float]) -> tuple[float, float, float]:
    vector = np.array(direction) / np.linalg.norm(direction)
    return (float(vector[0]), float(vector[1]), float(vector[2]))
