"""Actions: joint targets, joint velocities, waypoints and the gripper."""

from __future__ import annotations

import numpy as np
import pytest

from rbench.action import JointPositions, JointVelocities, Waypoint, Waypoints
from rbench.geometry import Array, axis_angle, multiply, quaternion_distance
from rbench.interfaces.world import Tick
from rbench.simulation.kinematics import ArmKinematics
from rbench.simulation.world import MujocoWorld

DOWN = (0.0, 1.0, 0.0, 0.0)


def _last(world: MujocoWorld, *goals: Waypoint) -> Tick:
    return list(world.execute(Waypoints(goals)))[-1]


def _gap(world: MujocoWorld) -> float:
    """Distance between the finger pads, m."""
    return float(world.data.qpos[7] + world.data.qpos[8])


def _row(world: MujocoWorld, gripper: float = 0.0) -> Array:
    return np.append(world.state().robot.joint_positions, gripper)


def test_the_gripper_opens_beyond_7_cm_and_closes_below_1_cm(started: MujocoWorld) -> None:
    for gripper, narrowest, widest in ((0.0, 0.07, 0.081), (1.0, -0.001, 0.01)):
        for _ in started.execute(JointPositions(np.tile(_row(started, gripper), (30, 1)))):
            pass
        assert narrowest < _gap(started) < widest
        assert started.state().robot.gripper == pytest.approx(gripper, abs=0.05)


def test_a_reachable_waypoint_is_reached_exactly_and_in_time(started: MujocoWorld) -> None:
    goal = Waypoint((0.5, -0.1, 0.2), DOWN, 0.5, speed=0.3)
    distance = float(np.linalg.norm(started.state().robot.end_effector_position - goal.position))
    tick = _last(started, goal)
    robot = tick.state.robot
    assert tick.events == ()
    assert robot.end_effector_position == pytest.approx(goal.position, abs=0.003)
    assert quaternion_distance(robot.end_effector_quaternion, goal.quaternion) < 0.03
    assert robot.gripper == pytest.approx(0.5, abs=0.02)
    assert distance / 0.3 < tick.state.time < distance / 0.3 + 0.6


def test_a_waypoint_can_turn_the_hand(started: MujocoWorld) -> None:
    turned = multiply(axis_angle((0.0, 0.0, 1.0), 0.7), multiply(axis_angle((1.0, 0.0, 0.0), 0.3), DOWN))
    tick = _last(started, Waypoint((0.45, 0.0, 0.3), turned, 0.0))
    assert tick.events == ()
    assert quaternion_distance(tick.state.robot.end_effector_quaternion, turned) < 0.03


def test_the_fingertips_go_straight_to_a_waypoint(started: MujocoWorld) -> None:
    _last(started, Waypoint((0.5, -0.2, 0.2), DOWN, 0.0))
    start = started.state().robot.end_effector_position
    way = np.array((0.5, 0.2, 0.2)) - start
    ticks = list(started.execute(Waypoints((Waypoint((0.5, 0.2, 0.2), DOWN, 0.0),))))
    offsets = np.array([tick.state.robot.end_effector_position for tick in ticks]) - start
    along = offsets @ way / (way @ way)
    assert np.linalg.norm(offsets - along[:, None] * way, axis=1).max() < 0.006


def test_waypoints_follow_each_other_in_one_action(started: MujocoWorld) -> None:
    tick = _last(started, Waypoint((0.5, 0.1, 0.3), DOWN, 0.0), Waypoint((0.4, 0.1, 0.2), DOWN, 0.0))
    assert tick.state.robot.end_effector_position == pytest.approx((0.4, 0.1, 0.2), abs=0.003)


def test_an_unreachable_waypoint_is_approached_and_reported(started: MujocoWorld) -> None:
    ticks = list(started.execute(Waypoints((Waypoint((1.1, 0.0, 0.3), DOWN, 0.0, speed=1.0),))))
    assert [tick.events for tick in ticks[:-1]] == [()] * (len(ticks) - 1)
    assert ticks[-1].events == ("unreachable",)
    distance = float(np.linalg.norm(np.array((1.1, 0.0, 0.3)) - ticks[0].state.robot.end_effector_position))
    assert ticks[-1].state.time == pytest.approx(distance + 3.0, abs=0.15)
    # The flange reaches 0.855 m from the shoulder; with the hand turned outwards the fingertips go farther.
    assert ticks[-1].state.robot.end_effector_position[0] > 0.75


def test_the_same_waypoint_can_be_reached_again_after_an_unreachable_one(started: MujocoWorld) -> None:
    _last(started, Waypoint((1.1, 0.0, 0.3), DOWN, 0.0, speed=1.0))
    tick = _last(started, Waypoint((0.45, 0.1, 0.25), DOWN, 0.0))
    assert tick.events == ()


def test_a_gripper_that_stalls_on_the_object_counts_as_reached(started: MujocoWorld) -> None:
    x, y, _ = started.state().bodies["geometry"].position
    _last(started, Waypoint((x, y, 0.15), DOWN, 0.0), Waypoint((x, y, 0.025), DOWN, 0.0))
    begin = started.state().time
    tick = _last(started, Waypoint((x, y, 0.025), DOWN, 1.0))
    assert tick.events == ()
    assert tick.state.time - begin < 0.5
    assert tick.state.touches("geometry", "left_finger")
    assert tick.state.touches("geometry", "right_finger")
    assert _gap(started) == pytest.approx(0.05, abs=0.002)


def test_a_lifted_object_stays_where_it_was_grasped(started: MujocoWorld) -> None:
    x, y, _ = started.state().bodies["geometry"].position
    down = Waypoint((x, y, 0.025), DOWN, 0.0)
    _last(started, Waypoint((x, y, 0.15), DOWN, 0.0), down, Waypoint(down.position, DOWN, 1.0))
    held = started.state().bodies["geometry"].position - started.state().robot.end_effector_position
    _last(started, Waypoint((x, y, 0.2), DOWN, 1.0), Waypoint((0.45, -0.15, 0.2), DOWN, 1.0))
    state = started.state()
    assert state.bodies["geometry"].position - state.robot.end_effector_position == pytest.approx(held, abs=0.002)


def test_joint_targets_within_reach_are_executed_unchanged(started: MujocoWorld) -> None:
    rows = np.tile(_row(started), (20, 1))
    rows[:, 3] += np.linspace(0.0, 0.3, 20)
    ticks = list(started.execute(JointPositions(rows)))
    assert sum(tick.clipped for tick in ticks) == 0
    assert np.array([tick.command for tick in ticks]) == pytest.approx(rows, abs=1e-9)


@pytest.mark.parametrize("value", [1e7, -1e7])
def test_absurd_joint_targets_are_clipped_counted_and_harmless(started: MujocoWorld, value: float) -> None:
    robot = started.robot
    ticks = list(started.execute(JointPositions(np.full((60, 8), value))))
    assert [tick.clipped for tick in ticks] == [8] * 60
    commands = np.array([tick.command for tick in ticks])
    assert (commands[:, :7] >= robot.lower).all()
    assert (commands[:, :7] <= robot.upper).all()
    assert (np.abs(np.diff(commands[:, :7], axis=0)) <= np.array(robot.max_velocity) / 20 + 1e-9).all()
    assert not started.data.warning.number.any()
    assert np.abs(started.data.qvel[:7]).max() < 3.0


def test_velocities_are_integrated_from_the_last_command(started: MujocoWorld) -> None:
    rows = np.zeros((20, 8))
    rows[:, 0] = 0.5
    ticks = list(started.execute(JointVelocities(rows)))
    assert sum(tick.clipped for tick in ticks) == 0
    assert ticks[-1].command[0] == pytest.approx(0.5, abs=1e-6)
    assert ticks[-1].state.robot.joint_positions[0] == pytest.approx(0.45, abs=0.02)


def test_velocities_beyond_speed_or_joint_limits_are_clipped_and_counted(started: MujocoWorld) -> None:
    rows = np.zeros((40, 8))
    rows[:, 0], rows[:, 6], rows[:, 7] = 100.0, 2.0, -1.0
    ticks = list(started.execute(JointVelocities(rows)))
    assert ticks[0].clipped == 2  # joint 1 and the gripper
    assert ticks[0].command[0] == pytest.approx(started.robot.max_velocity[0] / 20)
    assert ticks[-1].clipped == 3  # joint 7 has come to its limit
    assert ticks[-1].command[6] == started.robot.upper[6]


def test_settling_holds_the_last_command(started: MujocoWorld) -> None:
    command = _last(started, Waypoint((0.5, 0.0, 0.3), DOWN, 0.5)).command
    ticks = list(started.settle(0.5))
    assert all(np.array_equal(tick.command, command) for tick in ticks)


def test_forward_and_inverse_kinematics_agree_over_the_work_space() -> None:
    arm, rng = ArmKinematics(), np.random.default_rng(3)
    home = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    for _ in range(50):
        goal = arm.fingertip(home + rng.uniform(-0.5, 0.5, 7))
        joints = home
        for _ in range(5):
            joints = arm.solve(goal.position, goal.quaternion, joints, home)
        found = arm.fingertip(joints)
        assert found.position == pytest.approx(goal.position, abs=1e-3)
        assert quaternion_distance(found.quaternion, goal.quaternion) < 5e-3
