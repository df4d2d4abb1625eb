"""Small factors for tests of suites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from rbench.design import Level
from rbench.geometry import Pose
from rbench.interfaces.factor import Factor
from rbench.interfaces.world import World
from rbench.scene import Setup


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid")

    object: str = "geometry"


class CountOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int = 1000
    prefix: str = "n"


class FaultOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")

    fault: Literal["none", "double", "name", "raises", "value"] = "none"


class Listed(Factor):
    """A factor whose levels stand in a list."""

    LEVELS: tuple[Level, ...] = ()

    def __init__(self, options: Any) -> None:
        self.options = options

    def levels(self) -> Sequence[Level]:
        return self.LEVELS

    def sample(self, rng: np.random.Generator) -> Level:
        return self.levels()[int(rng.integers(len(self.levels())))]

    def apply(self, setup: Setup, level: Level) -> Setup:
        return setup

    def read_back(self, world: World) -> Any:
        return None


class Paint(Listed):
    LEVELS = (Level("red", [255, 0, 0]), Level("green", [0, 128, 0]), Level("blue", [0, 0, 255]))

    def apply(self, setup: Setup, level: Level) -> Setup:
        item = replace(setup.scene.object(self.options.object), color=tuple(level.value))
        return replace(setup, scene=setup.scene.with_object(item))


class Zoom(Listed):
    LEVELS = (Level("near", 30.0), Level("far", 60.0))

    def apply(self, setup: Setup, level: Level) -> Setup:
        scene = setup.scene
        for camera in scene.cameras:
            if camera.viewpoint:
                scene = scene.with_camera(replace(camera, fovy=level.value))
        return replace(setup, scene=scene)


class Place(Listed):
    LEVELS = (Level("p1", [0.45, 0.1]), Level("p2", [0.35, 0.0]), Level("p3", [0.5, 0.12]))

    def apply(self, setup: Setup, level: Level) -> Setup:
        item = setup.scene.object("geometry")
        pose = Pose((level.value[0], level.value[1], item.pose.position[2]), item.pose.quaternion)
        return replace(setup, scene=setup.scene.with_object(replace(item, pose=pose)))


class Words(Listed):
    """Says the colour of the object, so that tests see in which order factors are applied."""

    LEVELS = (Level("i1", "Put the object in the box."), Level("i2", "Into the box goes the object."))

    def apply(self, setup: Setup, level: Level) -> Setup:
        return replace(setup, instruction=f"{level.value} {setup.scene.object('geometry').color}")


class Many(Listed):
    def levels(self) -> Sequence[Level]:
        return [Level(f"{self.options.prefix}{i}", i) for i in range(self.options.count)]


class Faulty(Listed):
    def levels(self) -> Sequence[Level]:
        faults: dict[str, list[Level]] = {
            "none": [],
            "double": [Level("a", 1), Level("a", 2)],
            "name": [Level("Not A Name", 1)],
            "value": [Level("a", object())],
        }
        return faults[self.options.fault]
