"""The factors `camera-pose`, `camera-euler` and `camera-distance`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from rbench.design import Level
from rbench.errors import UsageError
from rbench.geometry import Pose, axis_angle, multiply, quaternion, rotation_matrix
from rbench.scene import Camera, Setup
from rbench_factor_viewpoint import camera_distance, camera_euler, camera_pose
from rbench_factor_viewpoint.camera_distance import CameraDistance
from rbench_factor_viewpoint.camera_euler import CameraEuler
from rbench_factor_viewpoint.camera_pose import CameraPose
from rbench_factor_viewpoint.viewpoint_factor import ViewpointFactor, compose, relative

POSE = CameraPose(camera_pose.Options())
EULER = CameraEuler(camera_euler.Options())
DISTANCE = CameraDistance(camera_distance.Options())
FACTORS = (POSE, EULER, DISTANCE)
every_factor = pytest.mark.parametrize("factor", FACTORS, ids=lambda f: f.name)
every_level = pytest.mark.parametrize(
    ("factor", "level"), [(f, level) for f in FACTORS for level in f.levels()], ids=lambda v: v.name
)


def level(factor: ViewpointFactor, name: str) -> Level:
    return next(level for level in factor.levels() if level.name == name)


def looks(camera: Camera) -> Any:
    return -rotation_matrix(camera.pose.quaternion)[:, 2]


def test_orbit_poses_are_three_rings_of_seven() -> None:
    assert [lv.name for lv in POSE.levels()] == [f"r{ring}a{angle}" for ring in (1, 2, 3) for angle in range(1, 8)]


def test_euler_levels_are_every_yaw_with_every_pitch() -> None:
    angles = (-6, 0, 6)
    assert [lv.name for lv in EULER.levels()] == [f"yaw{yaw}_pitch{pitch}" for yaw in angles for pitch in angles]


def test_distances_go_back_by_five_centimetres() -> None:
    assert [lv.name for lv in DISTANCE.levels()] == [f"d{step * 0.05:.2f}" for step in range(9)]
    assert [lv.value for lv in DISTANCE.levels()] == pytest.approx([step * 0.05 for step in range(9)])


@every_level
def test_only_viewpoint_cameras_move_and_optics_stay(factor: ViewpointFactor, level: Level, setup: Setup) -> None:
    changed = factor.apply(setup, level)
    for before, after in zip(setup.scene.cameras, changed.scene.cameras, strict=True):
        if before.viewpoint:
            assert replace(after, pose=before.pose, reference=None) == before
        else:
            assert after == before
    assert replace(changed.scene, cameras=setup.scene.cameras) == setup.scene
    assert changed.instruction == setup.instruction


@every_level
def test_every_level_reads_back_as_asked(factor: ViewpointFactor, level: Level, setup: Setup, claimed: Any) -> None:
    changed = factor.apply(setup, level)
    found = factor.read_back(claimed(changed, changed.scene))
    assert set(found) == {"front", "left_top"}
    assert factor.difference(level.value, found) <= factor.tolerance


@every_level
def test_no_level_reads_back_as_another(factor: ViewpointFactor, level: Level, setup: Setup, claimed: Any) -> None:
    changed = factor.apply(setup, level)
    found = factor.read_back(claimed(changed, changed.scene))
    near = [other.name for other in factor.levels() if factor.difference(other.value, found) <= factor.tolerance]
    assert near == [level.name]


@every_factor
def test_a_camera_that_was_not_moved_is_noticed(factor: ViewpointFactor, setup: Setup, claimed: Any) -> None:
    asked = factor.apply(setup, factor.levels()[-1])
    wrong = asked.scene.with_camera(replace(asked.scene.camera("left_top"), pose=setup.scene.camera("left_top").pose))
    found = factor.read_back(claimed(asked, wrong))
    assert factor.difference(factor.levels()[-1].value, found) > factor.tolerance


def test_a_roll_and_a_sideways_move_are_noticed(setup: Setup, claimed: Any) -> None:
    front = setup.scene.camera("front")
    rolled = Pose(front.pose.position, multiply(front.pose.quaternion, axis_angle((0.0, 0.0, 1.0), 0.1)))
    found = EULER.read_back(claimed(setup, setup.scene.with_camera(replace(front, pose=rolled))))
    assert EULER.difference((0.0, 0.0), found) > EULER.tolerance
    aside = replace(front, pose=compose(front.pose, Pose((0.1, 0.0, 0.0))))
    found = DISTANCE.read_back(claimed(setup, setup.scene.with_camera(aside)))
    assert DISTANCE.difference(0.0, found) > DISTANCE.tolerance


@pytest.mark.parametrize("order", [(POSE, EULER, DISTANCE), (EULER, POSE, DISTANCE), (EULER, DISTANCE, POSE)])
def test_viewpoint_factors_combine(order: tuple[ViewpointFactor, ...], setup: Setup, claimed: Any) -> None:
    levels = {POSE: level(POSE, "r2a3"), EULER: level(EULER, "yaw-6_pitch6"), DISTANCE: level(DISTANCE, "d0.15")}
    for factor in order:
        setup = factor.apply(setup, levels[factor])
    world = claimed(setup, setup.scene)
    for factor, chosen in levels.items():
        assert factor.difference(chosen.value, factor.read_back(world)) <= factor.tolerance


def test_viewpoint_cameras_share_an_orbit_pose(setup: Setup) -> None:
    changed = POSE.apply(setup, level(POSE, "r1a4")).scene
    assert changed.camera("front").pose == changed.camera("left_top").pose
    x, y, z = changed.camera("front").pose.position
    assert x > 0.46
    assert y == pytest.approx(-0.015)
    assert z == pytest.approx(0.02 + 0.55 * np.sin(np.radians(40)), abs=1e-6)


def test_orbit_cameras_look_at_the_target_with_a_level_horizon(setup: Setup) -> None:
    for lv in POSE.levels():
        camera = POSE.apply(setup, lv).scene.camera("front")
        toward = np.array([0.46, -0.015, 0.02]) - camera.pose.position
        assert np.allclose(looks(camera), toward / np.linalg.norm(toward), atol=1e-5)
        assert abs(rotation_matrix(camera.pose.quaternion)[2, 0]) < 1e-6


def test_a_turn_leaves_the_camera_where_it_is_and_yaw_looks_left_and_pitch_up(setup: Setup) -> None:
    before = setup.scene.camera("front")
    right, up = rotation_matrix(before.pose.quaternion)[:, 0], rotation_matrix(before.pose.quaternion)[:, 1]
    yawed = EULER.apply(setup, level(EULER, "yaw6_pitch0")).scene.camera("front")
    pitched = EULER.apply(setup, level(EULER, "yaw0_pitch6")).scene.camera("front")
    assert yawed.pose.position == pitched.pose.position == before.pose.position
    sine = np.sin(np.radians(6))
    assert looks(yawed) @ right == pytest.approx(-sine)
    assert looks(yawed) @ up == pytest.approx(0, abs=1e-8)
    assert looks(pitched) @ up == pytest.approx(sine)
    assert looks(pitched) @ right == pytest.approx(0, abs=1e-8)


def test_no_turn_and_no_distance_are_no_change_of_pose(setup: Setup) -> None:
    for factor, name in ((EULER, "yaw0_pitch0"), (DISTANCE, "d0.00")):
        changed = factor.apply(setup, level(factor, name)).scene
        for camera in setup.scene.cameras:
            after = changed.camera(camera.name).pose
            assert after.position == camera.pose.position
            assert np.allclose(after.quaternion, camera.pose.quaternion, atol=1e-8)


def test_distance_is_straight_back_without_a_turn(setup: Setup) -> None:
    before, after = (s.scene.camera("left_top") for s in (setup, DISTANCE.apply(setup, level(DISTANCE, "d0.40"))))
    moved = np.subtract(after.pose.position, before.pose.position)
    assert np.allclose(moved, -0.4 * looks(before))
    assert np.allclose(after.pose.quaternion, before.pose.quaternion, atol=1e-8)


@every_factor
def test_a_scene_without_viewpoint_cameras_is_refused(factor: ViewpointFactor, setup: Setup) -> None:
    scene = replace(setup.scene, cameras=tuple(replace(c, viewpoint=False) for c in setup.scene.cameras))
    with pytest.raises(UsageError, match=f"factor {factor.name}.*`viewpoint_cameras` of the suite"):
        factor.apply(replace(setup, scene=scene), factor.levels()[0])


@every_factor
def test_samples_follow_the_generator_read_back_and_have_valid_names(
    factor: ViewpointFactor, setup: Setup, claimed: Any
) -> None:
    first, again, other = (factor.sample(np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert first == again != other
    for drawn in (first, other):
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", drawn.name)
        changed = factor.apply(setup, drawn)
        found = factor.read_back(claimed(changed, changed.scene))
        assert factor.difference(drawn.value, found) <= factor.tolerance


def test_samples_stay_inside_the_levels() -> None:
    rng = np.random.default_rng(7)
    turns = np.array([EULER.sample(rng).value for _ in range(200)])
    assert np.abs(turns).max() <= 6
    distances = [DISTANCE.sample(rng).value for _ in range(200)]
    assert 0 <= min(distances) < 0.05 < 0.35 < max(distances) <= 0.4
    heights = [POSE.sample(rng).value["position"][2] - 0.02 for _ in range(200)]
    assert np.degrees(np.arcsin(min(heights) / 0.55)) >= 39.9
    assert np.degrees(np.arcsin(max(heights) / 0.55)) <= 70.1


@pytest.mark.parametrize("options", [camera_pose.Options, camera_euler.Options, camera_distance.Options])
def test_unknown_options_are_refused(options: type[BaseModel]) -> None:
    with pytest.raises(ValidationError):
        options.model_validate({"angle": 3})


def test_impossible_orbits_are_refused() -> None:
    with pytest.raises(ValidationError):
        camera_pose.Options(elevations=[90.0])
    with pytest.raises(ValidationError):
        camera_pose.Options(radius=0.0)


def test_relative_undoes_compose() -> None:
    a = Pose((0.1, 0.2, 0.3), quaternion((1, 2, 3, 4)))
    b = Pose((-0.4, 0.5, 0.6), quaternion((2, -1, 0.5, 1)))
    found = relative(a, compose(a, b))
    assert found.position == pytest.approx(b.position)
    assert np.allclose(found.quaternion, b.quaternion)
