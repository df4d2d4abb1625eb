"""Pictures of the built-in scene, with the true boxes in them, for tests of what looks at pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest

from rbench.geometry import Pose
from rbench.interfaces.world import World
from rbench.observation import CameraRequest
from rbench.scene import Color, SceneDescription, Setup, Shape, Texture
from rbench.suites.scene_files import load_scene

SIZE = 224


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture, and for object and box the (x1, y1, x2, y2) of their visible pixels."""

    image: npt.NDArray[np.uint8]
    boxes: dict[str, tuple[float, ...]]


@pytest.fixture(scope="session")
def world(gl_problem: str | None) -> Iterator[World]:
    if gl_problem:
        pytest.skip(gl_problem)
    from rbench.simulation.gl import choose_gl, use_gl

    use_gl(choose_gl())
    from rbench.simulation.profiles import render_profile
    from rbench.simulation.world import MujocoWorld

    made = MujocoWorld(render_profile("standard"))
    yield made
    made.close()


@pytest.fixture
def photograph(world: World) -> Callable[..., Picture]:
    """Takes a picture of the built-in scene, changed as asked."""

    def take(
        color: Color = (255, 0, 0),
        shape: Shape = "cube",
        position: tuple[float, float] | None = None,
        camera: str = "front",
        table: Texture | None = None,
        size: int = SIZE,
        objects: bool = True,
    ) -> Picture:
        scene: SceneDescription = load_scene("tabletop")
        item = scene.object("geometry")
        x, y = position or item.pose.position[:2]
        # An object that is not to be seen lies far behind the table.
        pose = Pose((x, y, item.pose.position[2])) if objects else Pose((-3.0, 0.0, -0.7))
        scene = scene.with_object(replace(item, color=color, shape=shape, pose=pose))
        if table is not None:
            scene = replace(scene, table=replace(scene.table, texture=table))
        request = CameraRequest(size, size, ("rgb",))
        world.reset(Setup(scene, ""), control_rate=20, cameras={camera: request})
        masks = world.masks(camera, size, size)
        return Picture(world.observe().cameras[camera].rgb, {n: _box(masks[n]) for n in ("geometry", "box")})

    return take


def _box(mask: npt.NDArray[np.bool_]) -> tuple[float, ...]:
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return (0.0,) * 4
    return (float(columns.min()), float(rows.min()), columns.max() + 1.0, rows.max() + 1.0)
