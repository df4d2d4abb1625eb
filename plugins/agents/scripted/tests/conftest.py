"""The MuJoCo world with the built-in scene, and one way to play an episode in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from rbench.action import JointPositions, JointVelocities, Stop, Waypoints, checked_action
from rbench.geometry import Pose, axis_angle
from rbench.interfaces.agent import Agent, EpisodeStart
from rbench.interfaces.world import Tick
from rbench.scene import Setup
from rbench.scene import Shape as ShapeName
from rbench.simulation.profiles import render_profile
from rbench.simulation.world import MujocoWorld
from rbench.suites.scene_files import load_scene
from rbench.tasks.predicates import at_rest, in_container, released
from rbench.world_state import WorldState


@dataclass
class Played:
    """What happened in an episode; `success` without the confirmation time of a suite."""

    success: bool
    seconds: float
    reason: str
    ticks: list[Tick]


@pytest.fixture(scope="session")
def world() -> Iterator[MujocoWorld]:
    made = MujocoWorld(render_profile("fast"))
    yield made
    made.close()


@pytest.fixture
def setup_with() -> Callable[..., Setup]:
    """The built-in scene with its object of some shape at some place."""
    scene = load_scene("tabletop")

    def change(shape: ShapeName = "cube", x: float = 0.49, y: float = 0.04, yaw: float = 0.0) -> Setup:
        item = scene.objects[0]
        pose = Pose((x, y, item.size[2] / 2), axis_angle((0.0, 0.0, 1.0), yaw))
        return Setup(scene.with_object(replace(item, shape=shape, pose=pose)), "Put the object into the box.")

    return change


@pytest.fixture
def play(world: MujocoWorld) -> Callable[..., Played]:
    """Plays one episode to its end, a Stop or the time limit (s)."""

    def run(
        agent: Agent,
        setup: Setup,
        *,
        limit: float = 15.0,
        seed: int = 0,
        before_act: Callable[[int], None] = lambda call: None,
    ) -> Played:
        manifest = agent.manifest
        world.reset(setup, control_rate=manifest.control_rate, cameras=manifest.cameras)
        seen = world.observe(privileged=manifest.privileged)
        rng = np.random.default_rng(seed)
        agent.reset(EpisodeStart(setup.instruction, seen, world.robot, manifest.control_rate, rng))
        ticks: list[Tick] = []
        reason, call = "time_limit", 0
        while world.state().time < limit:
            before_act(call)
            action = checked_action(
                agent.act(world.observe(privileged=manifest.privileged)), "tested", manifest.actions
            )
            call += 1
            if isinstance(action, Stop):
                ticks.extend(world.settle(1.0))
                reason = action.reason
                break
            assert isinstance(action, (JointPositions, JointVelocities, Waypoints))
            for tick in world.execute(action):
                ticks.append(tick)
                if tick.state.time >= limit:
                    break
        return Played(_is_done(world.state()), world.state().time, reason, ticks)

    return run


def _is_done(state: WorldState) -> bool:
    return in_container(state, "geometry", "box") and released(state, "geometry") and at_rest(state, "geometry")
