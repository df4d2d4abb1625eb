"""The agent `servo`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rbench.action import JointPositions
from rbench.errors import AgentError
from rbench.interfaces.agent import AgentContext, EpisodeStart
from rbench.scene import SceneObject, Setup, Shape
from rbench.simulation.world import MujocoWorld
from rbench_agent_scripted.execution_noise import ExecutionNoise
from rbench_agent_scripted.servo import Servo, ServoOptions

POSITIONS = {"p1": (0.49, 0.04), "p2": (0.49, -0.04), "p3": (0.57, 0.04), "p4": (0.57, -0.04)}


def servo(**options: Any) -> Servo:
    return Servo(ServoOptions(**options), AgentContext())


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("shape", ["cube", "cylinder", "pyramid", "prism"])
def test_it_succeeds_with_every_shape_at_every_position(
    play: Callable[..., Any], setup_with: Callable[..., Setup], shape: Shape, position: str
) -> None:
    x, y = POSITIONS[position]
    played = play(servo(), setup_with(shape, x + 0.01, y - 0.01, math.radians(20.0)), limit=6.0)
    assert played.success


@pytest.mark.parametrize("seed", range(4))
def test_it_succeeds_under_execution_noise(
    play: Callable[..., Any], setup_with: Callable[..., Setup], seed: int
) -> None:
    shape: Shape = ("cube", "cylinder", "pyramid", "prism")[seed]  # type: ignore[assignment]
    assert play(servo(noise=1.0), setup_with(shape, yaw=0.3), limit=9.0, seed=seed).success


def started(agent: Servo, world: MujocoWorld, setup: Setup, seed: int = 1) -> None:
    world.reset(setup, control_rate=15, cameras={})
    start = world.observe(privileged=True)
    agent.reset(EpisodeStart(setup.instruction, start, world.robot, 15, np.random.default_rng(seed)))


def run(agent: Servo, world: MujocoWorld, ticks: int) -> None:
    for _ in range(ticks):
        action = agent.act(world.observe(privileged=True))
        assert isinstance(action, JointPositions)
        for _ in world.execute(action):
            pass


def test_its_label_is_a_function_of_the_state(world: MujocoWorld, setup_with: Callable[..., Setup]) -> None:
    noisy, clean = servo(noise=2.0), servo()
    started(noisy, world, setup_with())
    run(noisy, world, 12)
    observation = world.observe(privileged=True)
    start = EpisodeStart("", observation, world.robot, 15, np.random.default_rng(9))
    home = noisy._rest
    clean.reset(start)
    clean._rest = home
    row = clean.act(observation).rows[0]
    noisy.act(observation)
    assert np.abs(np.array(noisy.report()["labels"][-1]) - row).max() < 1e-8


def test_labels_are_clean_where_motion_is_noisy(world: MujocoWorld, setup_with: Callable[..., Setup]) -> None:
    agent = servo(noise=2.0)
    started(agent, world, setup_with())
    observation = world.observe(privileged=True)
    row = agent.act(observation).rows[0]
    label = np.array(agent.report()["labels"][0])
    assert np.abs(row[:7] - label[:7]).max() > 1e-3
    assert row[7] == label[7]


def test_without_noise_it_reports_nothing(world: MujocoWorld, setup_with: Callable[..., Setup]) -> None:
    agent = servo()
    started(agent, world, setup_with())
    run(agent, world, 2)
    assert agent.report() == {}


def test_it_comes_back_to_an_object_that_was_moved(
    play: Callable[..., Any], setup_with: Callable[..., Setup], world: MujocoWorld
) -> None:
    def push(call: int) -> None:
        if call == 18:  # the fingers are on their way down
            number = world.model.body("entity/geometry").jntadr[0]
            world.data.qpos[world.model.jnt_qposadr[number] + 1] -= 0.08

    assert play(servo(), setup_with("cube", 0.53, 0.04), before_act=push, limit=9.0).success


def test_an_object_wider_than_the_gripper_is_refused_by_name(
    world: MujocoWorld, setup_with: Callable[..., Setup]
) -> None:
    setup = setup_with()
    item: SceneObject = setup.scene.objects[0]
    wide = replace(setup, scene=setup.scene.with_object(replace(item, size=(0.09, 0.09, 0.05))))
    agent = servo()
    started(agent, world, wide)
    with pytest.raises(AgentError, match=r"is 0\.090 m wide and the gripper opens 0\.080 m"):
        agent.act(world.observe(privileged=True))


def test_noise_of_strength_zero_is_none_and_draws_nothing() -> None:
    rng = np.random.default_rng(0)
    noise = ExecutionNoise(0.0, 15, rng)
    assert not noise.offsets(False).any()
    assert rng.random() == np.random.default_rng(0).random()


def test_noise_is_smaller_near_the_object_and_leaves_the_gripper_alone() -> None:
    far, near = [], []
    for seed in range(40):
        for careful, into in ((False, far), (True, near)):
            noise = ExecutionNoise(1.0, 15, np.random.default_rng(seed))
            rows = np.array([noise.offsets(careful) for _ in range(60)])
            assert not rows[:, 7].any()
            into.append(rows[10:, :7].std())
    assert np.mean(near) == pytest.approx(0.3 * np.mean(far), rel=0.02)
    assert 0 < sum(value == 0 for value in far) < 20
