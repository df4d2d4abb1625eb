"""Camera geometry: pixels of known points, and points of known pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from rbench.geometry import Array, Pose, look_at, quaternion
from rbench.scene import Camera
from rbench.simulation.cameras import (
    extrinsics,
    intrinsics_of,
    lift,
    opencv_extrinsics,
    project,
    read_optics,
    write_optics,
)
from rbench.simulation.profiles import render_profile
from rbench.simulation.rendering import Renderer

RADIUS = 0.012
SPHERES = (
    (0.3, 0.1, 0.02),
    (0.42, -0.12, 0.05),
    (0.5, 0.0, 0.1),
    (0.55, 0.15, 0.03),
    (0.6, -0.05, 0.2),
    (0.4, 0.2, 0.15),
)
#: The robot stands neither in the middle of the world nor straight in it.
BASE = Pose((0.2, -0.1, 0.05), quaternion((0.966, 0.0, 0.0, 0.259)))

FOVY = Camera("fovy", look_at((0.95, 0.3, 0.6), (0.47, 0.02, 0.05)), fovy=50.0)
OFF_CENTRE = Camera(
    "off centre",
    look_at((0.9, -0.35, 0.7), (0.47, 0.02, 0.05)),
    resolution=(240, 320),
    focal=(300.0, 285.0),
    principal=(140.0, 129.0),
)
CENTRED_FOCAL = replace(OFF_CENTRE, name="centred", principal=None)
CAMERAS = (FOVY, OFF_CENTRE, CENTRED_FOCAL)


class Spheres:
    """Six small spheres and the cameras, drawn."""

    def __init__(self) -> None:
        spec = mujoco.MjSpec()
        spec.stat.extent = 1.0
        spec.visual.map.znear, spec.visual.map.zfar = 0.01, 20.0
        for place in SPHERES:
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(RADIUS, 0, 0), pos=place)
        for camera in CAMERAS:
            spec.worldbody.add_camera(name=camera.name, pos=camera.pose.position, quat=camera.pose.quaternion)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        for number, camera in enumerate(CAMERAS):
            write_optics(self.model, number, camera)
        mujoco.mj_forward(self.model, self.data)
        self.renderer = Renderer(self.model, render_profile("fast"))

    def in_base(self) -> Array:
        points = np.column_stack([np.array(SPHERES), np.ones(len(SPHERES))])
        return np.asarray((points @ np.linalg.inv(BASE.matrix()).T)[:, :3])


@pytest.fixture(scope="module")
def spheres() -> Iterator[Spheres]:
    spheres = Spheres()
    yield spheres
    spheres.renderer.close()


@pytest.mark.gl
@pytest.mark.parametrize("size", [(256, 256), (240, 320), (480, 360)], ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("camera", CAMERAS, ids=lambda c: c.name)
def test_spheres_are_where_projection_says_and_lift_to_where_they_are(
    spheres: Spheres, camera: Camera, size: tuple[int, int]
) -> None:
    intrinsics = intrinsics_of(camera, *size)
    pose = extrinsics(spheres.model, spheres.data, camera.name, BASE)
    geoms = spheres.renderer.segmentation(spheres.data, camera.name, *size)
    depth = spheres.renderer.depth(spheres.data, camera.name, *size)
    expected = project(spheres.in_base(), intrinsics, pose)
    for number, point in enumerate(spheres.in_base()):
        rows, columns = np.nonzero(geoms == number)
        pixel = np.array([columns.mean(), rows.mean()])
        assert np.abs(pixel - expected[number]).max() < 0.5
        surface = depth[round(float(pixel[1])), round(float(pixel[0]))]
        # The surface is a radius nearer than the centre, along the ray.
        ray = np.array([(pixel[0] - intrinsics.cx) / intrinsics.fx, (pixel[1] - intrinsics.cy) / intrinsics.fy, 1.0])
        lifted = lift(pixel[None], np.array([surface + RADIUS / np.linalg.norm(ray)]), intrinsics, pose)
        assert np.linalg.norm(lifted[0] - point) < 0.002
        assert np.abs(project(lifted, intrinsics, pose)[0] - pixel).max() < 1e-6


def test_the_centre_of_the_upper_left_pixel_is_the_origin_of_pixel_coordinates() -> None:
    intrinsics = intrinsics_of(FOVY, 240, 320)
    assert (intrinsics.cx, intrinsics.cy) == (159.5, 119.5)
    assert intrinsics.fx == intrinsics.fy == pytest.approx(120 / np.tan(np.radians(25)))


def test_intrinsics_of_a_focal_camera_scale_with_the_image() -> None:
    intrinsics = intrinsics_of(OFF_CENTRE, 480, 640)
    assert (intrinsics.fx, intrinsics.fy) == (600.0, 570.0)
    # Pixel edges scale, half a pixel before the centres.
    assert (intrinsics.cx, intrinsics.cy) == (280.5, 258.5)


def test_lifting_undoes_projection() -> None:
    pose = opencv_extrinsics(FOVY.pose.matrix(), BASE)
    points = np.array([[0.3, 0.1, 0.0], [0.5, -0.2, 0.3]])
    intrinsics = intrinsics_of(FOVY, 256, 256)
    depth = (points - pose[:3, 3]) @ pose[:3, 2]
    assert np.allclose(lift(project(points, intrinsics, pose), depth, intrinsics, pose), points)


def test_a_point_behind_the_camera_has_no_pixel() -> None:
    pose = opencv_extrinsics(Pose().matrix(), Pose())
    assert np.isnan(project(np.array([[0.0, 0.0, 1.0]]), intrinsics_of(FOVY, 64, 64), pose)).all()


def test_opencv_extrinsics_look_along_z_with_y_down() -> None:
    pose = opencv_extrinsics(look_at((1.0, 0.0, 0.5), (0.0, 0.0, 0.5)).matrix(), Pose())
    assert np.allclose(pose[:3, 2], (-1, 0, 0))
    assert np.allclose(pose[:3, 1], (0, 0, -1))


@pytest.mark.parametrize("camera", CAMERAS, ids=lambda c: c.name)
def test_optics_are_read_back_as_they_were_written(camera: Camera) -> None:
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><camera name='c'/></worldbody></mujoco>")
    write_optics(model, 0, camera)
    found = read_optics(model, 0, camera)
    assert (found.resolution, found.fovy) == (camera.resolution, camera.fovy)
    for asked, read in ((camera.focal, found.focal), (camera.principal, found.principal)):
        assert (asked is None) == (read is None)
        if asked is not None and read is not None:
            assert np.allclose(asked, read, atol=1e-3)


def test_a_camera_given_by_fovy_forgets_the_sensor_it_had() -> None:
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><camera name='c'/></worldbody></mujoco>")
    write_optics(model, 0, OFF_CENTRE)
    write_optics(model, 0, FOVY)
    assert read_optics(model, 0, FOVY) == FOVY
