"""The world: building, settling, time, determinism, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from rbench.action import JointPositions, Waypoint, Waypoints
from rbench.errors import UsageError
from rbench.observation import CameraRequest
from rbench.scene import SceneDescription, Setup
from rbench.simulation import compile as compiling
from rbench.simulation.profiles import render_profile
from rbench.simulation.world import MujocoWorld

HIGH = Waypoint((0.45, 0.1, 0.25), (0.0, 1.0, 0.0, 0.0), 0.3)


def _joints(world: MujocoWorld, ticks: int) -> JointPositions:
    row = np.append(world.state().robot.joint_positions, 0.0)
    moving = np.tile(row, (ticks, 1))
    moving[:, 0] += np.linspace(0.0, 0.4, ticks)
    return JointPositions(moving)


@pytest.mark.parametrize("shape", ["cube", "cylinder", "pyramid", "prism"])
def test_after_reset_everything_is_at_rest_where_the_scene_puts_it(
    world: MujocoWorld, with_shape: Callable[..., SceneDescription], shape: str
) -> None:
    scene = with_shape(shape, yaw=0.3)
    world.reset(Setup(scene, ""), control_rate=20, cameras={})
    state = world.state()
    assert state.time == 0.0
    assert world.data.time == 0.0
    assert np.abs(world.data.qvel).max() < 0.01
    assert state.robot.joint_positions == pytest.approx(scene.robot.home, abs=1e-4)
    for item in compiling.free_bodies(scene):
        assert state.bodies[item.name].position == pytest.approx(item.pose.position, abs=1e-4)
        assert state.bodies[item.name].quaternion == pytest.approx(item.pose.quaternion, abs=1e-3)
    assert state.contacts == {("geometry", "table"), ("box", "table")}
    assert not world.data.warning.number.any()


def test_the_state_gives_cavity_and_floor_of_every_receptacle(started: MujocoWorld, tabletop: SceneDescription) -> None:
    box = tabletop.receptacles[0]
    assert started.state().cavities == {"box": box.inner}
    assert started.state().floors == {"box": box.wall}


def test_time_is_counted_in_control_ticks(started: MujocoWorld) -> None:
    times = [tick.state.time for tick in started.settle(1.5)]
    assert len(times) == 30
    assert times[-1] == 1.5


def test_a_world_is_driven_lazily(started: MujocoWorld) -> None:
    ticks = started.execute(_joints(started, 10))
    next(ticks)
    next(ticks)
    assert started.state().time == 0.1


@pytest.mark.parametrize("ahead", [2, 7, 1000])
def test_how_far_the_physics_runs_ahead_changes_nothing(
    world: MujocoWorld, tabletop: SceneDescription, ahead: int
) -> None:
    low = Waypoint((0.49, 0.04, 0.03), HIGH.quaternion, 0.0)
    goals = (HIGH, low, Waypoint(low.position, low.quaternion, 1.0), Waypoint((2.0, 0.0, 0.3), HIGH.quaternion, 0.5))
    found = []
    for stride in (1, ahead):
        world.reset(Setup(tabletop, ""), control_rate=20, cameras={})
        ticks = [*world.execute(_joints(world, 10), ahead=lambda: stride)]  # noqa: B023 - used up at once
        ticks += world.execute(Waypoints(goals), ahead=lambda: stride)  # noqa: B023
        ticks += world.settle(0.5, ahead=lambda: stride)  # noqa: B023
        found.append([(tick.command.tolist(), repr(tick.state), tick.clipped, tick.events) for tick in ticks])
        found[-1].append(world.fingerprint())
    assert found[0] == found[1]


def test_physics_runs_ahead_as_far_as_it_is_allowed(started: MujocoWorld) -> None:
    ticks = started.settle(1.0, ahead=lambda: 4)
    assert next(ticks).state.time == 0.05
    assert (started.state().time, started.data.time) == (0.2, pytest.approx(0.2))
    (tick,) = started.settle(0.05)  # whoever stopped looking goes on from there
    assert tick.state.time == 0.25


@pytest.mark.parametrize(("asked", "nearest"), [(50, 48), (25, 24), (0, 1), (100, 96), (1000, 480)])
def test_a_control_rate_that_does_not_divide_the_physics_rate_is_refused(
    world: MujocoWorld, tabletop: SceneDescription, asked: int, nearest: int
) -> None:
    with pytest.raises(UsageError, match=rf"control rate {asked} Hz .* nearest that does is {nearest} Hz"):
        world.reset(Setup(tabletop, ""), control_rate=asked, cameras={})


def test_an_unknown_camera_is_refused_with_a_near_name(world: MujocoWorld, tabletop: SceneDescription) -> None:
    with pytest.raises(UsageError, match=r"no camera 'frnt'.*Did you mean 'front'"):
        world.reset(Setup(tabletop, ""), control_rate=20, cameras={"frnt": CameraRequest(64, 64)})


def test_a_world_without_a_scene_says_so() -> None:
    with pytest.raises(UsageError, match="call reset"):
        MujocoWorld(render_profile("fast")).state()


def test_a_structure_is_compiled_once_in_a_process(
    world: MujocoWorld, with_shape: Callable[..., SceneDescription]
) -> None:
    setups = [Setup(with_shape("cube", x), "") for x in (0.48, 0.5, 0.52)]
    world.reset(setups[0], control_rate=20, cameras={})
    model, compiled = world.model, compiling._compiled.cache_info().misses
    for setup in setups:
        world.reset(setup, control_rate=20, cameras={})
        assert world.model is model
    other = MujocoWorld(render_profile("fast"))
    other.reset(setups[0], control_rate=20, cameras={})
    assert compiling._compiled.cache_info().misses == compiled
    assert other.model is not model


def test_an_episode_leaves_no_trace_in_the_next(
    world: MujocoWorld, tabletop: SceneDescription, with_shape: Callable[..., SceneDescription]
) -> None:
    setup = Setup(tabletop, "")
    fresh = MujocoWorld(render_profile("fast"))
    fresh.reset(setup, control_rate=20, cameras={})
    expected = [fresh.fingerprint(), *(fresh.fingerprint() for _ in fresh.execute(Waypoints((HIGH,))))]

    world.reset(Setup(with_shape("prism", 0.55, -0.03, 0.2), ""), control_rate=40, cameras={})
    for _ in world.execute(Waypoints((HIGH,))):
        pass
    world.reset(setup, control_rate=20, cameras={})
    found = [world.fingerprint(), *(world.fingerprint() for _ in world.execute(Waypoints((HIGH,))))]
    assert found == expected


def test_replayed_commands_give_the_same_states_bit_for_bit(world: MujocoWorld, tabletop: SceneDescription) -> None:
    world.reset(Setup(tabletop, ""), control_rate=20, cameras={})
    commands, recorded = [], []
    goals = (
        HIGH,
        Waypoint((0.49, 0.04, 0.03), (0.0, 1.0, 0.0, 0.0), 0.0),
        Waypoint((0.49, 0.04, 0.03), HIGH.quaternion, 1.0),
    )
    for tick in world.execute(Waypoints(goals)):
        commands.append(tick.command)
        recorded.append(world.fingerprint())
    world.reset(Setup(tabletop, ""), control_rate=20, cameras={})
    assert [world.fingerprint() for _ in world.replay(np.array(commands))] == recorded


def test_two_processes_reach_the_same_state() -> None:
    script = (
        "from rbench.action import Waypoint, Waypoints\n"
        "from rbench.scene import Setup\n"
        "from rbench.simulation.profiles import render_profile\n"
        "from rbench.simulation.world import MujocoWorld\n"
        "from rbench.suites.scene_files import load_scene\n"
        "world = MujocoWorld(render_profile('fast'))\n"
        "world.reset(Setup(load_scene('tabletop'), ''), control_rate=20, cameras={})\n"
        "start = world.fingerprint()\n"
        "list(world.execute(Waypoints((Waypoint((0.45, 0.1, 0.25), (0.0, 1.0, 0.0, 0.0), 0.3),))))\n"
        "print(start, world.fingerprint())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_only_a_privileged_observation_holds_ground_truth(started: MujocoWorld) -> None:
    truth = started.observe(privileged=True).ground_truth.state
    assert truth.contacts == started.state().contacts
    with pytest.raises(ValueError, match="read-only"):
        truth.bodies["geometry"].position[:] = 9.0
    truth.bodies.clear()  # a copy: what an agent does with it reaches nobody
    truth.floors.clear()
    assert started.state().bodies["geometry"].position[2] < 1.0
    assert started.state().floors
    with pytest.raises(AttributeError, match="privileged"):
        _ = started.observe().ground_truth


def test_what_is_observed_of_the_robot_is_its_measured_state(started: MujocoWorld) -> None:
    seen, robot = started.observe(), started.state().robot
    assert np.array_equal(seen.joint_positions, robot.joint_positions)
    assert seen.end_effector.position == pytest.approx(robot.end_effector_position)
    assert not seen.joint_positions.flags.writeable
    assert seen.gripper == pytest.approx(0.0, abs=0.01)


def test_provenance_names_simulator_and_render_profile(started: MujocoWorld) -> None:
    found = started.provenance()
    assert found["simulator"] == "mujoco"
    assert found["version"].startswith("4.")
    assert found["render"] == "fast"
