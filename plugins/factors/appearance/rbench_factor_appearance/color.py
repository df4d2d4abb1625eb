"""Factor `color`: the colour of one object."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

import numpy as np
from pydantic import BaseModel, ConfigDict

from rbench.design import Level
from rbench.errors import UsageError
from rbench.interfaces.factor import Factor
from rbench.interfaces.world import World
from rbench.scene import Color as Rgb
from rbench.scene import Setup


class Options(BaseModel):
    """Options of the factor.

    Attributes:
        object: name of the object whose colour varies.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    object: str = "geometry"


class Color(Factor):
    """141 named colours; a level's value is (red, green, blue), 0..255.

    Attributes:
        groups: the colour family of every level (`red`, `pink`, ...), for summaries by family.
    """

    def __init__(self, options: Options) -> None:
        self._object = options.object
        self.groups = color_groups()

    def levels(self) -> Sequence[Level]:
        return tuple(Level(name, rgb) for name, (rgb, _) in _named_colors().items())

    def sample(self, rng: np.random.Generator) -> Level:
        """A colour drawn uniformly from the 256^3 of sRGB."""
        red, green, blue = (int(c) for c in rng.integers(0, 256, 3))
        return Level(f"rgb-{red}-{green}-{blue}", (red, green, blue))

    def apply(self, setup: Setup, level: Level) -> Setup:
        try:
            item = setup.scene.object(self._object)
        except KeyError as problem:
            raise UsageError(f"factor color: {problem.args[0]}; set its option `object`") from problem
        red, green, blue = level.value
        return replace(setup, scene=setup.scene.with_object(replace(item, color=(red, green, blue))))

    def read_back(self, world: World) -> Rgb:
        return world.read_scene().object(self._object).color


def color_groups() -> dict[str, str]:
    """The colour family of each of the 141 names."""
    return {name: group for name, (_, group) in _named_colors().items()}


@cache
def _named_colors() -> dict[str, tuple[Rgb, str]]:
    table = tomllib.loads(files("rbench_factor_appearance").joinpath("colors.toml").read_text("utf-8"))
    return {name: (tuple(row["rgb"]), row["group"]) for name, row in table.items()}
