"""What a world shows: lazily, of the present moment only, and without touching the physics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rbench.errors import StaleObservation
from rbench.geometry import Pose, axis_angle, multiply, quaternion
from rbench.observation import CameraRequest
from rbench.scene import SceneDescription, Setup
from rbench.simulation.cameras import lift
from rbench.simulation.profiles import render_profile
from rbench.simulation.stage import KEPT_STAGES
from rbench.simulation.world import MujocoWorld

FRONT = {"front": CameraRequest(48, 64, ("rgb", "depth"))}


@pytest.fixture
def seen(world: MujocoWorld, tabletop: SceneDescription) -> MujocoWorld:
    world.reset(Setup(tabletop, ""), control_rate=20, cameras=FRONT)
    return world


@pytest.mark.parametrize("read", ["rgb", "depth", "extrinsics"])
def test_an_observation_that_is_first_read_after_the_world_moved_on_is_stale(seen: MujocoWorld, read: str) -> None:
    view = seen.observe().cameras["front"]
    next(seen.settle(0.05))
    with pytest.raises(StaleObservation, match=r"camera 'front'.*before you return an action"):
        getattr(view, read)


def test_an_observation_of_the_last_episode_is_stale(seen: MujocoWorld, tabletop: SceneDescription) -> None:
    view = seen.observe().cameras["front"]
    seen.reset(Setup(tabletop, ""), control_rate=20, cameras=FRONT)
    with pytest.raises(StaleObservation):
        _ = view.rgb


@pytest.mark.gl
def test_an_image_that_was_read_in_time_is_kept(seen: MujocoWorld) -> None:
    view = seen.observe().cameras["front"]
    image = view.rgb
    before = image.copy()
    next(seen.settle(0.05))
    assert view.rgb is image
    assert np.array_equal(image, before)
    assert not image.flags.writeable
    assert image.shape == (48, 64, 3)


@pytest.mark.gl
def test_looking_changes_nothing_in_the_physics(seen: MujocoWorld, tabletop: SceneDescription) -> None:
    blind = [seen.fingerprint() for _ in seen.settle(0.5)]
    seen.reset(Setup(tabletop, ""), control_rate=20, cameras=FRONT)
    looking = []
    for _ in seen.settle(0.5):
        view = seen.observe().cameras["front"]
        _ = view.rgb, view.depth, view.extrinsics
        seen.masks("front", 48, 64)
        looking.append(seen.fingerprint())
    assert looking == blind


@pytest.mark.gl
def test_the_present_moment_is_drawn(seen: MujocoWorld) -> None:
    """The wrist camera sits on the hand: its picture and its pose are those after the last tick."""
    before = seen.render("wrist", 48, 64)
    wrist = seen.model.camera("wrist").id
    pose = seen.data.cam_xpos[wrist].copy()
    joints = np.append(seen.state().robot.joint_positions, 0.0)
    joints[0] += 0.1
    list(seen.replay(np.tile(joints, (20, 1))))
    after = seen.render("wrist", 48, 64)
    assert np.linalg.norm(seen.data.cam_xpos[wrist] - pose) > 0.02
    assert not np.array_equal(before, after)


@pytest.mark.gl
def test_masks_name_every_entity_and_cover_what_is_seen(seen: MujocoWorld) -> None:
    masks = seen.masks("front", 96, 128)
    assert set(masks) == {"geometry", "box", "table", "floor", "robot", "left_finger", "right_finger"}
    assert all(mask.shape == (96, 128) and mask.dtype == np.bool_ for mask in masks.values())
    assert masks["geometry"].sum() > 50
    assert masks["table"].sum() > 1000
    assert np.sum(list(masks.values()), axis=0).max() == 1


@pytest.mark.gl
def test_the_lifted_middle_of_the_mask_lies_in_the_object(seen: MujocoWorld) -> None:
    view = seen.observe().cameras["front"]
    rows, columns = np.nonzero(seen.masks("front", 48, 64)["geometry"])
    pixels = np.column_stack([columns, rows]).astype(np.float64)
    points = lift(pixels, view.depth[rows, columns].astype(np.float64), view.intrinsics, view.extrinsics)
    center = seen.state().bodies["geometry"].position
    assert np.abs(points - center).max() < 0.035


def test_an_agent_of_a_bumped_camera_is_told_where_it_was_mounted(tabletop: SceneDescription) -> None:
    camera = tabletop.camera("front")
    bumped = Pose(camera.pose.position, quaternion(multiply(axis_angle((0.0, 0.0, 1.0), 0.1), camera.pose.quaternion)))
    scene = tabletop.with_camera(replace(camera, pose=bumped, reference=camera.pose))
    found = {}
    for told in ("true", "nominal"):
        for name, shown in (("mounted", tabletop), ("bumped", scene)):
            world = MujocoWorld(render_profile("fast"), extrinsics=told)
            world.reset(Setup(shown, ""), control_rate=20, cameras=FRONT)
            found[told, name] = world.observe().cameras["front"].extrinsics
            world.close()
    assert found["nominal", "bumped"] == pytest.approx(found["true", "mounted"], abs=1e-6)
    assert found["nominal", "mounted"] == pytest.approx(found["true", "mounted"], abs=1e-6)
    assert np.abs(found["true", "bumped"] - found["true", "mounted"]).max() > 0.05


@pytest.mark.gl
def test_what_drew_the_pictures_is_known_once_something_was_drawn(tabletop: SceneDescription) -> None:
    world = MujocoWorld(render_profile("fast"))
    world.reset(Setup(tabletop, ""), control_rate=20, cameras=FRONT)
    assert world.provenance()["gl"] is None
    _ = world.observe().cameras["front"].rgb
    assert world.provenance()["gl"]["renderer"]
    world.close()


@pytest.mark.gl
def test_more_structures_than_are_kept_are_drawn_alike(
    world: MujocoWorld, with_shape: Callable[..., SceneDescription]
) -> None:
    setup = Setup(with_shape("cube"), "")
    world.reset(setup, control_rate=20, cameras=FRONT)
    first = world.render("front", 48, 64)
    for number in range(KEPT_STAGES + 1):
        item = setup.scene.objects[0]
        size = (0.03 + 0.001 * number, 0.04, 0.05)
        world.reset(Setup(setup.scene.with_object(replace(item, size=size)), ""), control_rate=20, cameras=FRONT)
        world.render("front", 48, 64)
    world.reset(setup, control_rate=20, cameras=FRONT)
    assert np.array_equal(world.render("front", 48, 64), first)
