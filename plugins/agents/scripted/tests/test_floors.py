"""The agents `idle` and `random`: they need no camera, obey every limit, and never succeed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from rbench.interfaces.agent import Agent, AgentContext
from rbench.scene import Setup
from rbench.simulation.world import MujocoWorld
from rbench_agent_scripted.idle import Idle
from rbench_agent_scripted.random_motion import RandomMotion, RandomMotionOptions


def _idle() -> Agent:
    return Idle(None, AgentContext())


def _random(scale: float = 0.3) -> Agent:
    return RandomMotion(RandomMotionOptions(scale=scale), AgentContext())


@pytest.mark.parametrize("agent", [_idle(), _random(), _random(1.0)], ids=["idle", "random", "random at full speed"])
def test_a_floor_stays_within_every_limit_and_fails(
    play: Callable[..., Any], setup_with: Callable[..., Setup], world: MujocoWorld, agent: Agent
) -> None:
    played = play(agent, setup_with())
    assert (played.success, played.reason, played.seconds) == (False, "time_limit", 15.0)
    assert sum(tick.clipped for tick in played.ticks) == 0
    assert not world.data.warning.number.any()


@pytest.mark.parametrize("agent", [_idle(), _random()], ids=["idle", "random"])
def test_a_floor_declares_the_front_camera_and_never_reads_it(
    play: Callable[..., Any],
    setup_with: Callable[..., Setup],
    world: MujocoWorld,
    agent: Agent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a picture was drawn")

    monkeypatch.setattr("rbench.simulation.stage.Stage.draw", refuse)
    assert agent.manifest.primary == "front"
    assert list(agent.manifest.cameras) == ["front"]
    assert not agent.manifest.privileged
    play(agent, setup_with(), limit=3.0)


def test_idle_holds_still(play: Callable[..., Any], setup_with: Callable[..., Setup]) -> None:
    played = play(_idle(), setup_with(), limit=3.0)
    joints = np.array([tick.state.robot.joint_positions for tick in played.ticks])
    assert np.ptp(joints, axis=0).max() < 1e-3


def test_random_moves_and_follows_its_seed_alone(play: Callable[..., Any], setup_with: Callable[..., Setup]) -> None:
    agent = _random()
    commands = [
        np.array([tick.command for tick in play(agent, setup_with(), limit=4.0, seed=seed).ticks]) for seed in (1, 2, 1)
    ]
    assert np.ptp(commands[0][:, :7], axis=0).min() > 0.1
    assert not np.array_equal(commands[0], commands[1])
    assert np.array_equal(commands[0], commands[2])


@pytest.mark.parametrize("options", [{"scale": 0}, {"scale": 1.5}, {"amplitude": 1}])
def test_wrong_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        RandomMotionOptions(**options)
