"""The world without physics and graphics: exact where a check relies on it."""

from __future__ import annotations

import numpy as np
import pytest

from rbench import CameraRequest, JointPositions, JointVelocities, StaleObservation, UsageError, Waypoint, Waypoints
from rbench.interfaces.world import World
from rbench.observation import Observation
from rbench.tasks.monitor import TaskMonitor
from rbench.testing import FakeWorld, baselines, scenario
from rbench.testing.scenarios import BOX, OBJECT, TASK

CAMERAS = {name: CameraRequest(90, 120, ("rgb", "depth")) for name in ("front", "left_top", "right_top", "wrist")}
DOWN = (0.0, 1.0, 0.0, 0.0)


@pytest.fixture
def world() -> FakeWorld:
    made = FakeWorld()
    made.reset(scenario("straight", 0.5, 0.02, 0.0).setup, control_rate=20, cameras=CAMERAS)
    return made


def go(world: FakeWorld, *goals: tuple[float, float, float, float], quaternion: tuple[float, ...] = DOWN) -> list[str]:
    action = Waypoints(tuple(Waypoint((x, y, z), quaternion, g, 0.5) for x, y, z, g in goals))
    return [event for tick in world.execute(action) for event in tick.events]


def lifted(observation: Observation, camera: str, mask: np.ndarray) -> np.ndarray:
    view = observation.cameras[camera]
    v, u = np.nonzero(mask)
    k, z = view.intrinsics, view.depth[v, u].astype(float)
    points = np.column_stack([(u - k.cx) / k.fx * z, (v - k.cy) / k.fy * z, z])
    return points @ view.extrinsics[:3, :3].T + view.extrinsics[:3, 3]


def test_it_is_a_world(world: FakeWorld) -> None:
    checked: World = world
    assert checked.provenance()["simulator"] == "fake"
    assert checked.robot.max_opening == pytest.approx(0.08)


def test_nothing_can_be_asked_before_a_reset() -> None:
    with pytest.raises(UsageError, match="reset"):
        FakeWorld().observe()


@pytest.mark.parametrize("camera", CAMERAS)
def test_a_pixel_and_its_depth_are_the_point_that_was_drawn(world: FakeWorld, camera: str) -> None:
    mask = world.masks(camera, 90, 120)[OBJECT]
    assert mask.sum() > 20
    points = lifted(world.observe(), camera, mask)
    low, high = np.array([0.475, -0.005, 0.0]), np.array([0.525, 0.045, 0.05])
    assert (points > low - 1e-3).all() and (points < high + 1e-3).all()
    # Every point lies on a face of the cube.
    assert np.minimum(abs(points - low), abs(points - high)).min(axis=1).max() < 1e-3


def test_pictures_have_the_colours_of_the_scene(world: FakeWorld) -> None:
    rgb = world.observe().cameras["front"].rgb
    masks = world.masks("front", 90, 120)
    assert rgb.shape == (90, 120, 3) and rgb.dtype == np.uint8
    assert (rgb[masks[OBJECT]][:, 0] > 120).all() and (rgb[masks[OBJECT]][:, 1:] == 0).all()
    assert (rgb[masks[BOX]][:, 1] > 100).all()


def test_pictures_are_the_agents_own_and_drawn_when_read(world: FakeWorld) -> None:
    first, second = world.observe().cameras["front"].rgb, world.observe().cameras["front"].rgb
    assert first is not second and not np.shares_memory(first, second)
    assert not first.flags.writeable


def test_a_picture_of_the_past_is_refused(world: FakeWorld) -> None:
    before = world.observe()
    go(world, (0.5, 0.02, 0.2, 0.0))
    with pytest.raises(StaleObservation):
        before.cameras["front"].rgb  # noqa: B018


def test_pictures_can_be_altered() -> None:
    world = FakeWorld(lambda channel, image: np.zeros_like(image) if channel == "rgb" else image)
    world.reset(baselines()[0].setup, control_rate=20, cameras=CAMERAS)
    seen = world.observe().cameras["front"]
    assert seen.rgb.max() == 0
    assert seen.depth.min() > 0.1


def test_the_hand_goes_where_a_waypoint_says(world: FakeWorld) -> None:
    go(world, (0.45, -0.1, 0.2, 0.5))
    seen = world.observe()
    np.testing.assert_allclose(seen.end_effector.position, (0.45, -0.1, 0.2), atol=1e-3)
    assert seen.gripper == pytest.approx(0.5)


def test_a_waypoint_out_of_reach_is_told(world: FakeWorld) -> None:
    assert go(world, (1.1, 0.0, 0.3, 0.0)) == ["unreachable"]


def test_joint_targets_and_velocities_are_followed_within_limits(world: FakeWorld) -> None:
    start = world.observe().joint_positions.copy()
    rows = np.tile(np.append(start, 0.0), (3, 1))
    rows[:, 0] += [0.05, 0.1, 0.1]
    assert [tick.clipped for tick in world.execute(JointPositions(rows))] == [0, 0, 0]
    assert world.observe().joint_positions[0] == pytest.approx(0.1)
    fast = np.zeros((1, 8))
    fast[0, 0] = 100.0
    (tick,) = world.execute(JointVelocities(fast))
    assert tick.clipped == 1


PICK = ((0.5, 0.02, 0.12, 0.0), (0.5, 0.02, 0.025, 0.0), (0.5, 0.02, 0.025, 1.0), (0.5, 0.02, 0.15, 1.0))
PLACE = ((0.36, -0.055, 0.15, 1.0), (0.36, -0.055, 0.08, 1.0), (0.36, -0.055, 0.08, 0.2), (0.36, -0.055, 0.15, 0.2))


def test_an_object_between_closing_fingers_is_held_and_carried(world: FakeWorld) -> None:
    go(world, *PICK)
    state = world.state()
    assert state.touches(OBJECT, "left_finger") and not state.touches(OBJECT, "table")
    assert state.bodies[OBJECT].position[2] == pytest.approx(0.15, abs=2e-3)
    assert state.robot.gripper == pytest.approx(1 - 0.05 / 0.08)


def test_what_is_let_go_above_the_box_falls_into_it_and_the_goal_holds(world: FakeWorld) -> None:
    monitor = TaskMonitor(TASK)
    monitor.update(world.state())
    for goals in (PICK, PLACE):
        for tick in world.execute(Waypoints(tuple(Waypoint(goal[:3], DOWN, goal[3], 0.5) for goal in goals))):
            monitor.update(tick.state)
    assert monitor.succeeded
    assert world.state().touches(OBJECT, BOX)


def test_what_is_let_go_elsewhere_lies_on_the_table(world: FakeWorld) -> None:
    go(world, *PICK, (0.5, 0.2, 0.15, 1.0), (0.5, 0.2, 0.15, 0.0))
    state = world.state()
    assert state.touches(OBJECT, "table")
    np.testing.assert_allclose(state.bodies[OBJECT].position, (0.5, 0.2, 0.025), atol=2e-3)


@pytest.mark.parametrize(
    ("case", "goals", "quaternion"),
    [
        ("beside the object", [(0.54, 0.02, 0.025, 0.0), (0.54, 0.02, 0.025, 1.0)], DOWN),
        ("above the object", [(0.5, 0.02, 0.08, 0.0), (0.5, 0.02, 0.08, 1.0)], DOWN),
        ("with closed fingers", [(0.5, 0.02, 0.2, 1.0), (0.5, 0.02, 0.025, 1.0)], DOWN),
        ("across its corners", [(0.5, 0.02, 0.025, 0.0), (0.5, 0.02, 0.025, 1.0)], (0.0, 0.9239, 0.3827, 0.0)),
        ("with the hand up", [(0.5, 0.02, 0.025, 0.0), (0.5, 0.02, 0.025, 1.0)], (0.0, 0.0, 0.0, 1.0)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_grasp_that_would_not_hold_does_not(
    world: FakeWorld, case: str, goals: list[tuple[float, float, float, float]], quaternion: tuple[float, ...]
) -> None:
    go(world, *goals, quaternion=quaternion)
    assert not world.state().touches(OBJECT, "left_finger"), case


def test_the_same_commands_lead_to_the_same_state() -> None:
    prints = []
    for _ in range(2):
        world = FakeWorld()
        world.reset(baselines()[1].setup, control_rate=20, cameras={})
        go(world, *PICK)
        prints.append(world.fingerprint())
    assert prints[0] == prints[1]


def test_ground_truth_is_only_for_the_privileged(world: FakeWorld) -> None:
    assert world.observe(privileged=True).ground_truth.state.bodies[OBJECT].position[0] == pytest.approx(0.5)
    with pytest.raises(AttributeError):
        world.observe().ground_truth  # noqa: B018
