"""Factor `shape`: the shape of an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.design import Level
from rbench.errors import UsageError
from rbench.interfaces.factor import Factor
from rbench.interfaces.world import World
from rbench.scene import Setup
from rbench.scene import Shape as ShapeName
from rbench_factor_context.scene_object import object_of


class Options(BaseModel):
    """Options of the factor.

    Attributes:
        object: name of the object whose shape varies.
        shapes: the levels.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    object: str = "geometry"
    shapes: list[ShapeName] = Field(default=["cube", "cylinder", "pyramid", "prism"], min_length=1)


class Shape(Factor):
    """A level's value is the name of a shape; the bounding box, the mass and the place stay."""

    def __init__(self, options: Options) -> None:
        self._object = options.object
        self._shapes = options.shapes

    def levels(self) -> Sequence[Level]:
        return tuple(Level(shape, shape) for shape in self._shapes)

    def sample(self, rng: np.random.Generator) -> Level:
        """One of the levels, each as likely as the others."""
        return self.levels()[int(rng.integers(len(self._shapes)))]

    def apply(self, setup: Setup, level: Level) -> Setup:
        if level.value not in get_args(ShapeName):
            known = ", ".join(get_args(ShapeName))
            raise UsageError(f"factor shape: level {level.name!r} has no shape ({level.value!r}); give one of {known}")
        item = object_of(setup.scene, self._object, "shape")
        return replace(setup, scene=setup.scene.with_object(replace(item, shape=level.value)))

    def read_back(self, world: World) -> str:
        return world.read_scene().object(self._object).shape
