"""What the cameras show at every level: object, box and work area, whole and large enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from rbench.geometry import Array, Pose, rotation_matrix
from rbench.observation import CameraRequest
from rbench.scene import Jitter, SceneDescription, Setup, jittered
from rbench.simulation.cameras import intrinsics_of, lift, opencv_extrinsics, project
from rbench.simulation.solids import solid_vertices
from rbench.simulation.world import MujocoWorld
from rbench.suites.suite import Suite

pytestmark = pytest.mark.gl

SIDE = 256
VIEWPOINT_FACTORS = ("camera-pose", "camera-euler", "camera-distance")
STANDING = ("front", "left_top", "right_top")


def corners(scene: SceneDescription) -> Array:
    """Corners (n, 3) of the object as it stands, world frame."""
    item = scene.object("geometry")
    local = np.array(solid_vertices(item.shape, item.size))
    return np.asarray(local @ rotation_matrix(item.pose.quaternion).T + item.pose.position)


def surroundings(scene: SceneDescription) -> Array:
    """Corners (n, 3) of the box and of the work area, world frame."""
    box = scene.receptacle("box")
    x, y = (box.inner[i] / 2 + box.wall for i in (0, 1))
    outer = np.array(list(product((-x, x), (-y, y), (0.0, box.inner[2] + box.wall))))
    x_min, x_max, y_min, y_max = scene.work_area
    area = np.array([(x, y, scene.table.center[2]) for x in (x_min, x_max) for y in (y_min, y_max)])
    return np.vstack([outer @ rotation_matrix(box.pose.quaternion).T + box.pose.position, area])


def pixels(points: Array, scene: SceneDescription, camera: str, side: int = SIDE) -> Array:
    seen_by = scene.camera(camera)
    pose = opencv_extrinsics(seen_by.pose.matrix(), scene.robot.pose)
    return project(points, intrinsics_of(seen_by, side, side), pose)


def margin(points: Array, scene: SceneDescription, camera: str) -> float:
    """Pixels between the outermost of the points and the edge of the picture."""
    seen = pixels(points, scene, camera)
    return float(min(seen.min(), SIDE - 1 - seen.max()))


def contexts(suite: Suite, base: Setup, shapes: tuple[str, ...]) -> Iterator[Setup]:
    """Every position with some shapes, in the middle and at the ends of the jitter."""
    position, shape = suite.factors["position"], suite.factors["shape"]
    xy, yaw = suite.protocol.jitter_xy, suite.protocol.jitter_yaw
    for place, name in product(position.levels, shapes):
        setup = shape.factor.apply(position.factor.apply(base, place), shape.level(name))
        for jitter in (Jitter(), Jitter(xy, xy, yaw), Jitter(-xy, -xy, -yaw)):
            yield jittered(setup, {"geometry": jitter})


@pytest.mark.parametrize("camera", STANDING)
def test_the_object_is_25_pixels_wide_at_the_baseline(
    camera: str, suite: Suite, base: Setup, fast_world: MujocoWorld
) -> None:
    for setup in contexts(suite, base, ("cube", "cylinder", "pyramid", "prism")):
        fast_world.reset(setup, control_rate=20, cameras={})
        columns = np.flatnonzero(fast_world.masks(camera, SIDE, SIDE)["geometry"].any(axis=0))
        assert columns[-1] - columns[0] + 1 >= 25


@pytest.mark.parametrize("camera", STANDING)
def test_the_object_is_25_pixels_wide_wherever_and_however_the_jitter_puts_it(
    camera: str, suite: Suite, base: Setup
) -> None:
    position, shape = suite.factors["position"], suite.factors["shape"]
    xy, yaw = suite.protocol.jitter_xy, suite.protocol.jitter_yaw
    yaws = [float(y) for y in np.linspace(-yaw, yaw, 81)]
    for place, form in product(position.levels, shape.levels):
        setup = shape.factor.apply(position.factor.apply(base, place), form)
        for x, y in ((0.0, 0.0), *product((-xy, xy), repeat=2)):
            turned = [corners(jittered(setup, {"geometry": Jitter(x, y, yaw)}).scene) for yaw in yaws]
            columns = pixels(np.concatenate(turned), setup.scene, camera)[:, 0].reshape(len(yaws), -1)
            # So many pixels' centres lie within at the least.
            assert np.ptp(columns, axis=1).min() >= 25, (place.name, form.name, x, y)


@pytest.mark.parametrize("name", VIEWPOINT_FACTORS)
def test_the_object_is_whole_at_every_level(name: str, suite: Suite, base: Setup, fast_world: MujocoWorld) -> None:
    factor = suite.factors[name]
    # All viewpoint cameras are alike at an orbit pose.
    cameras = ("front",) if name == "camera-pose" else suite.viewpoint_cameras
    for setup in contexts(suite, base, ("cube", "pyramid")):
        for level in factor.levels:
            moved = factor.factor.apply(setup, level)
            fast_world.reset(moved, control_rate=20, cameras={})
            scene = fast_world.read_scene()
            for camera in cameras:
                assert margin(corners(scene), scene, camera) > 3, (level.name, camera)
                silhouette = ConvexHull(pixels(corners(scene), scene, camera)).volume
                visible = fast_world.masks(camera, SIDE, SIDE)["geometry"].sum() / silhouette
                # Pixels on the edge make the difference for objects of 15 pixels.
                assert visible > 0.93, (level.name, camera)


def test_nothing_hides_the_object_from_the_right_either(suite: Suite, base: Setup, fast_world: MujocoWorld) -> None:
    for setup in contexts(suite, base, ("cube", "pyramid")):
        fast_world.reset(setup, control_rate=20, cameras={})
        scene = fast_world.read_scene()
        silhouette = ConvexHull(pixels(corners(scene), scene, "right_top")).volume
        assert fast_world.masks("right_top", SIDE, SIDE)["geometry"].sum() / silhouette > 0.95


@pytest.mark.parametrize("camera", STANDING)
def test_box_and_work_area_are_whole_from_where_the_cameras_stand(
    camera: str, base: Setup, fast_world: MujocoWorld
) -> None:
    fast_world.reset(base, control_rate=20, cameras={})
    scene = fast_world.read_scene()
    assert margin(surroundings(scene), scene, camera) > 10


def test_box_and_work_area_are_whole_from_every_orbit_pose(suite: Suite, base: Setup, fast_world: MujocoWorld) -> None:
    factor = suite.factors["camera-pose"]
    for level in factor.levels:
        fast_world.reset(factor.factor.apply(base, level), control_rate=20, cameras={})
        scene = fast_world.read_scene()
        for camera in suite.viewpoint_cameras:
            assert margin(surroundings(scene), scene, camera) > 10, level.name


def test_box_and_work_area_stay_whole_when_the_cameras_turn(suite: Suite, base: Setup, fast_world: MujocoWorld) -> None:
    factor = suite.factors["camera-euler"]
    for level in factor.levels:
        fast_world.reset(factor.factor.apply(base, level), control_rate=20, cameras={})
        scene = fast_world.read_scene()
        for camera in suite.viewpoint_cameras:
            assert margin(surroundings(scene), scene, camera) > 3, level.name


def check_lifting(world: MujocoWorld, setup: Setup, camera: str) -> None:
    """A point on the object, found in the depth image of an observation, is where the scene says."""
    request = CameraRequest(240, 320, ("depth",))
    world.reset(setup, control_rate=20, cameras={camera: request})
    item = world.read_scene().object("geometry")
    base = setup.scene.robot.pose.matrix()
    top = np.array([*item.pose.position[:2], item.pose.position[2] + item.size[2] / 2, 1.0])
    known = (np.linalg.inv(base) @ top)[:3]
    view = world.observe().cameras[camera]
    pixel = project(known[None], view.intrinsics, view.extrinsics)[0]
    column, row = (round(float(p)) for p in pixel)
    assert world.masks(camera, 240, 320)["geometry"][row, column]
    found = lift(np.array([[column, row]]), view.depth[row, column], view.intrinsics, view.extrinsics)
    assert np.linalg.norm(found[0] - known) < 0.01
    assert np.abs(project(found, view.intrinsics, view.extrinsics)[0] - pixel).max() < 1.5


@pytest.mark.parametrize("camera", [*STANDING, "wrist"])
def test_a_known_point_is_lifted_from_its_pixel(camera: str, base: Setup, fast_world: MujocoWorld) -> None:
    check_lifting(fast_world, base, camera)


def test_a_known_point_is_lifted_from_every_orbit_pose(suite: Suite, base: Setup, fast_world: MujocoWorld) -> None:
    factor = suite.factors["camera-pose"]
    for level in factor.levels:
        check_lifting(fast_world, factor.factor.apply(base, level), "front")


def test_a_known_point_is_lifted_by_a_camera_with_focal_length_and_principal_point(
    base: Setup, fast_world: MujocoWorld
) -> None:
    front = replace(base.scene.camera("front"), resolution=(240, 320), focal=(290.0, 270.0), principal=(140.0, 135.0))
    check_lifting(fast_world, replace(base, scene=base.scene.with_camera(front)), "front")


def test_a_known_point_is_lifted_into_the_frame_of_a_robot_that_stands_elsewhere(
    base: Setup, fast_world: MujocoWorld
) -> None:
    robot = replace(base.scene.robot, pose=Pose((0.02, -0.03, 0.0), (0.5**0.5, 0.0, 0.0, 0.5**0.5)))
    check_lifting(fast_world, replace(base, scene=replace(base.scene, robot=robot)), "front")
