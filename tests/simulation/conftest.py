"""Fixtures for the MuJoCo world: its built-in scene, and one world for all tests, which itself tests that
nothing passes from one reset to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from rbench.geometry import Pose, axis_angle
from rbench.scene import SceneDescription, Setup
from rbench.simulation.profiles import render_profile
from rbench.simulation.world import MujocoWorld
from rbench.suites.scene_files import load_scene

#: The hand pointing straight down, as at home.
DOWN = (0.0, 1.0, 0.0, 0.0)


@pytest.fixture(scope="session")
def tabletop() -> SceneDescription:
    return load_scene("tabletop")


@pytest.fixture(scope="session")
def world() -> Iterator[MujocoWorld]:
    made = MujocoWorld(render_profile("fast"))
    yield made
    made.close()


@pytest.fixture
def started(world: MujocoWorld, tabletop: SceneDescription) -> MujocoWorld:
    """The world with the built-in scene, at 20 Hz and without cameras."""
    world.reset(Setup(tabletop, "Put the object into the box."), control_rate=20, cameras={})
    return world


@pytest.fixture
def with_shape(tabletop: SceneDescription) -> Callable[..., SceneDescription]:
    """The built-in scene with its object of another shape, at another place."""

    def change(shape: str, x: float = 0.49, y: float = 0.04, yaw: float = 0.0) -> SceneDescription:
        item = tabletop.objects[0]
        pose = Pose((x, y, item.size[2] / 2), axis_angle((0.0, 0.0, 1.0), yaw))
        return tabletop.with_object(replace(item, shape=shape, pose=pose))  # type: ignore[arg-type]

    return change
