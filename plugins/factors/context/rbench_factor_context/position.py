"""Factor `position`: where an object starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.design import Level
from rbench.geometry import Pose
from rbench.interfaces.factor import Factor
from rbench.interfaces.world import World
from rbench.scene import Setup
from rbench_factor_context.scene_object import object_of

#: Corners of a square in front of the robot. The paper has four positions and does not give them; these are apart
#: enough (80 mm) that no two are alike to an agent, and near enough for every camera to hold all of them.
_POSITIONS = {"p1": (0.49, 0.04), "p2": (0.49, -0.04), "p3": (0.57, 0.04), "p4": (0.57, -0.04)}


class Options(BaseModel):
    """Options of the factor.

    Attributes:
        object: name of the object whose start varies.
        positions: for every level its (x, y) in metres, world frame.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    object: str = "geometry"
    positions: dict[str, tuple[float, float]] = Field(default=_POSITIONS, min_length=1)


class Position(Factor):
    """A level's value is (x, y) in metres, world frame; height and orientation stay."""

    # The object may creep a little while the scene comes to rest.
    tolerance = 1e-3

    def __init__(self, options: Options) -> None:
        self._object = options.object
        self._positions = options.positions

    def levels(self) -> Sequence[Level]:
        return tuple(Level(name, xy) for name, xy in self._positions.items())

    def sample(self, rng: np.random.Generator) -> Level:
        """A place uniform in the rectangle around the levels."""
        columns = zip(*self._positions.values(), strict=True)
        x, y = (round(float(rng.uniform(min(column), max(column))), 3) + 0.0 for column in columns)
        return Level(f"x{x:.3f}_y{y:.3f}", (x, y))

    def apply(self, setup: Setup, level: Level) -> Setup:
        item = object_of(setup.scene, self._object, "position")
        x, y = level.value
        pose = Pose((float(x), float(y), item.pose.position[2]), item.pose.quaternion)
        return replace(setup, scene=setup.scene.with_object(replace(item, pose=pose)))

    def read_back(self, world: World) -> tuple[float, float]:
        x, y, _ = world.read_scene().object(self._object).pose.position
        return (x, y)
