"""The agent `expert`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from rbench.errors import AgentError
from rbench.geometry import Pose, rotation_matrix
from rbench.interfaces.agent import AgentContext
from rbench.scene import SceneObject, Setup, Shape
from rbench.simulation.world import MujocoWorld
from rbench_agent_scripted.expert import Expert, ExpertOptions
from rbench_agent_scripted.grasps import best_grasp, pointing_down

POSITIONS = {"p1": (0.49, 0.04), "p2": (0.49, -0.04), "p3": (0.57, 0.04), "p4": (0.57, -0.04)}
JITTERS = [(0.0, 0.0, 0.0), (0.01, -0.01, 20.0)]


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("shape", ["cube", "cylinder", "pyramid", "prism"])
def test_the_expert_succeeds_with_every_shape_at_every_position(
    play: Callable[..., Any], setup_with: Callable[..., Setup], world: MujocoWorld, shape: Shape, position: str
) -> None:
    x, y = POSITIONS[position]
    for dx, dy, yaw in JITTERS:
        agent = Expert(ExpertOptions(), AgentContext())
        played = play(agent, setup_with(shape, x + dx, y + dy, math.radians(yaw)))
        assert played.success
        assert played.reason == "done"
        assert played.seconds < 7.0
        assert {tick.events for tick in played.ticks} == {()}
        assert agent.report() == {"grasps": 1}
        assert not world.data.warning.number.any()


@pytest.mark.parametrize("yaw", [-45, 10, 37, 45, 90, 133])
def test_any_orientation_of_the_object_will_do(
    play: Callable[..., Any], setup_with: Callable[..., Setup], yaw: float
) -> None:
    assert play(Expert(ExpertOptions(), AgentContext()), setup_with("cube", yaw=math.radians(yaw))).success


def test_a_failed_grasp_is_tried_once_more(
    play: Callable[..., Any], setup_with: Callable[..., Setup], world: MujocoWorld
) -> None:
    def take_away(call: int) -> None:
        if call == 1:
            # Out of the fingers, back to another place on the table.
            world.data.qpos[9:16] = (0.55, -0.03, 0.03, 1.0, 0.0, 0.0, 0.0)
            list(world.settle(0.2))

    agent = Expert(ExpertOptions(), AgentContext())
    played = play(agent, setup_with(), before_act=take_away)
    assert played.success
    assert agent.report() == {"grasps": 2}


def test_after_two_failed_grasps_it_gives_up(
    play: Callable[..., Any], setup_with: Callable[..., Setup], world: MujocoWorld
) -> None:
    def take_away(call: int) -> None:
        if call > 0:
            world.data.qpos[9:16] = (0.55, -0.03, 0.03, 1.0, 0.0, 0.0, 0.0)
            list(world.settle(0.2))

    played = play(Expert(ExpertOptions(), AgentContext()), setup_with(), before_act=take_away)
    assert (played.success, played.reason) == (False, "not_grasped")


def test_one_episode_leaves_nothing_to_the_next(play: Callable[..., Any], setup_with: Callable[..., Setup]) -> None:
    agent = Expert(ExpertOptions(), AgentContext())
    fresh = play(Expert(ExpertOptions(), AgentContext()), setup_with("prism"))
    play(agent, setup_with("pyramid", 0.57, -0.04), limit=2.0)
    again = play(agent, setup_with("prism"))
    assert [tick.command.tolist() for tick in again.ticks] == [tick.command.tolist() for tick in fresh.ticks]


def test_an_object_wider_than_the_gripper_is_refused_by_name(
    play: Callable[..., Any], setup_with: Callable[..., Setup]
) -> None:
    setup = setup_with()
    wide = replace(setup.scene.objects[0], size=(0.09, 0.09, 0.05))
    with pytest.raises(AgentError, match=r"object 'geometry' is 0.090 m wide"):
        play(Expert(ExpertOptions(), AgentContext()), replace(setup, scene=setup.scene.with_object(wide)))


def test_it_is_privileged_and_sees_no_camera() -> None:
    manifest = Expert(ExpertOptions(), AgentContext()).manifest
    assert manifest.privileged
    assert not manifest.cameras


@pytest.mark.parametrize("options", [{"speed": 0}, {"speed": 2}, {"sped": 0.3}])
def test_wrong_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        ExpertOptions(**options)


@pytest.mark.parametrize("shape", ["cube", "cylinder", "pyramid", "prism"])
@pytest.mark.parametrize("yaw", [-1.5, -0.3, 0.0, 0.4, 0.8, 2.0])
def test_a_grasp_turns_the_hand_by_at_most_half_the_angle_between_its_faces(shape: Shape, yaw: float) -> None:
    item = SceneObject("a", shape, (0.05, 0.05, 0.05), Pose(), (1, 2, 3))
    grasp = best_grasp(item, yaw)
    assert abs(grasp.angle + math.pi / 2) <= math.pi / 4 + 1e-9
    assert 0.03 < grasp.width <= 0.05
    assert 0.01 < grasp.height < 0.03


def test_fingers_are_in_line_with_the_angle_and_the_hand_points_down() -> None:
    turned = rotation_matrix(pointing_down(0.3))
    assert turned[:, 1] == pytest.approx((math.cos(0.3), math.sin(0.3), 0.0))
    assert turned[:, 2] == pytest.approx((0.0, 0.0, -1.0))
