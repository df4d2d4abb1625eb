"""Factors with one thing wrong each. `EXPECTED` says which checks must catch which."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

import numpy as np

from rbench.design import Level
from rbench.errors import UsageError
from rbench.interfaces.factor import Factor
from rbench.scene import Headlight

#: Factor -> the checks that must fail, and no other.
EXPECTED: dict[str, set[str]] = {}


def caught_by(*checks: str) -> Callable[[type], type]:
    def remember(cls: type) -> type:
        EXPECTED[cls.__name__] = set(checks)
        return cls

    return remember


@caught_by()
class Blameless(Factor):
    """The colour of the object, in three levels."""

    LEVELS: ClassVar[dict[str, Any]] = {"red": (255, 0, 0), "white": (255, 255, 255), "blue": (0, 0, 255)}

    def __init__(self, options: Any) -> None:
        self.options = options

    def levels(self) -> Any:
        return tuple(Level(name, value) for name, value in self.LEVELS.items())

    def sample(self, rng: np.random.Generator) -> Level:
        red, green, blue = (int(c) for c in rng.integers(0, 256, 3))
        return Level(f"rgb-{red}-{green}-{blue}", (red, green, blue))

    def apply(self, setup: Any, level: Level) -> Any:
        if level.value is None:
            raise UsageError(f"level {level.name!r} has no colour; give one")
        red, green, blue = level.value
        item = setup.scene.object("geometry")
        return replace(setup, scene=setup.scene.with_object(replace(item, color=(red, green, blue))))

    def read_back(self, world: Any) -> Any:
        return world.read_scene().object("geometry").color


# --- levels and samples ----------------------------------------------------------------------------------------------


@caught_by("construct")
class NoFactor:
    def __init__(self, options: Any) -> None:
        pass


@caught_by("construct")
class CannotBeMade(Blameless):
    def __init__(self, options: Any) -> None:
        raise ValueError("no")


@caught_by("levels")
class NoLevels(Blameless):
    LEVELS: ClassVar = {}


@caught_by("levels")
class EndlessLevels(Blameless):
    def levels(self) -> Any:
        return (Level(f"l{i}", (i % 256, 0, 0)) for i in count())


@caught_by("levels")
class BareLevels(Blameless):
    def levels(self) -> Any:
        return ("red", "blue")


@caught_by("levels")
class OtherLevelsEveryTime(Blameless):
    def levels(self) -> Any:
        return (*super().levels(), Level("odd", tuple(os.urandom(3))))


@caught_by("level-names")
class TwoAlike(Blameless):
    def levels(self) -> Any:
        return (*super().levels(), Level("blue", (0, 0, 255)))


@caught_by("level-names")
class CapitalNames(Blameless):
    LEVELS: ClassVar = {"Red": (255, 0, 0), "white": (255, 255, 255), "blue": (0, 0, 255)}


@caught_by("level-names")
class SampledNamesWithSpaces(Blameless):
    def sample(self, rng: np.random.Generator) -> Level:
        level = super().sample(rng)
        return Level(level.name.replace("-", " "), level.value)


class _Rgb:
    """A colour that knows no plain form."""

    def __init__(self, *channels: int) -> None:
        self.channels = channels

    def __iter__(self) -> Any:
        return iter(self.channels)


@caught_by("level-values")
class OwnTypes(Blameless):
    LEVELS: ClassVar = {name: _Rgb(*value) for name, value in Blameless.LEVELS.items()}


@caught_by("level-values")
class TuplesOnly(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        if not isinstance(level.value, tuple):
            raise TypeError("give a tuple")
        return super().apply(setup, level)


@caught_by("level-values")
class OtherwiseFromJson(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        turned = level.value[::-1] if isinstance(level.value, list) else level.value
        return super().apply(setup, Level(level.name, turned))


@caught_by("level-values")
class UndefinedValues(Blameless):
    LEVELS: ClassVar = {name: (*value, float("nan")) for name, value in Blameless.LEVELS.items()}

    def sample(self, rng: np.random.Generator) -> Level:
        level = super().sample(rng)
        return Level(level.name, (*level.value, float("nan")))

    def apply(self, setup: Any, level: Level) -> Any:
        return super().apply(setup, Level(level.name, level.value and level.value[:3]))

    def difference(self, asked: Any, found: Any) -> float:
        return float(max(abs(a - f) for a, f in zip(asked[:3], found, strict=True)))


@caught_by("groups")
class GroupsOfNothing(Blameless):
    groups: ClassVar = {"red": "warm", "blau": "cold"}


@caught_by("groups")
class NumberedGroups(Blameless):
    groups: ClassVar = {"red": 1}


@caught_by("sample")
class OwnGenerator(Blameless):
    def sample(self, rng: np.random.Generator) -> Level:
        return super().sample(np.random.default_rng())


@caught_by("sample")
class BareSample(Blameless):
    def sample(self, rng: np.random.Generator) -> Any:
        return (255, 0, 0)


@caught_by("sample-varies")
class AlwaysTheFirst(Blameless):
    def sample(self, rng: np.random.Generator) -> Level:
        return Level("red", (255, 0, 0))


@caught_by("sample-in-range")
class BeyondTheLevels(Blameless):
    LEVELS: ClassVar = {"red": (255, 0, 0), "dark": (100, 0, 0), "darker": (50, 0, 0)}


@caught_by("sample-names")
class RoundedNames(Blameless):
    def sample(self, rng: np.random.Generator) -> Level:
        level = super().sample(rng)
        return Level(f"rgb-{level.value[0] // 64}", level.value)


@caught_by("sample-names")
class SampledRedIsNotRed(Blameless):
    def sample(self, rng: np.random.Generator) -> Level:
        return Level("red", (255, int(rng.integers(1, 200)), 0)) if rng.random() < 0.01 else super().sample(rng)


# --- setups ----------------------------------------------------------------------------------------------------------


@caught_by("applies")
class OtherObject(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        return super().apply(replace(setup, scene=setup.scene.with_object(setup.scene.object("mug"))), level)


@caught_by("applies")
class ReturnsTheScene(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        return super().apply(setup, level).scene


@caught_by("leaves-input")
class Mutates(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        object.__setattr__(setup, "scene", super().apply(setup, level).scene)
        return setup


@caught_by("leaves-input")
class MutatesDeepDown(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        after = super().apply(setup, level)
        object.__setattr__(setup.scene.objects[0], "mass", 0.061)
        return after


@caught_by("repeatable")
class CountsCalls(Blameless):
    """Every setup a little heavier than the last."""

    calls = 0

    def apply(self, setup: Any, level: Level) -> Any:
        self.calls += 1
        return _heavier(super().apply(setup, level), self.calls)


@caught_by("repeatable")
class CountsInstances(Blameless):
    made = 0

    def __init__(self, options: Any) -> None:
        CountsInstances.made += 1
        self.number = CountsInstances.made

    def apply(self, setup: Any, level: Level) -> Any:
        return _heavier(super().apply(setup, level), self.number)


def _heavier(setup: Any, times: int) -> Any:
    item = setup.scene.object("geometry")
    return replace(setup, scene=setup.scene.with_object(replace(item, mass=0.06 + 1e-6 * times)))


@caught_by("plain-setup")
class Lists(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        after = super().apply(setup, level)
        return replace(after, scene=replace(after.scene, objects=list(after.scene.objects)))


@caught_by("plain-setup")
class NumpyNumbers(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        after = super().apply(setup, level)
        item = replace(after.scene.objects[0], friction=np.float32(0.7))
        return replace(after, scene=after.scene.with_object(item))


@caught_by("own-randomness")
class UsesGlobalRandomness(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        random.random()
        return super().apply(setup, level)


@caught_by("own-randomness")
class SeedsNumpy(Blameless):
    def sample(self, rng: np.random.Generator) -> Level:
        np.random.seed(3)  # noqa: NPY002
        return super().sample(rng)


@caught_by("unknown-value")
class TakesAnything(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        return super().apply(setup, Level(level.name, level.value or (1, 2, 3)))


@caught_by("baseline-words")
class DefaultIsBlue(Blameless):
    LEVELS: ClassVar = {"red": (255, 0, 0), "white": (255, 255, 255), "default": (0, 0, 255)}


@caught_by("second-object")
class OnlyOne(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        after = super().apply(setup, level)
        return replace(after, scene=replace(after.scene, objects=(after.scene.object("geometry"),)))


@caught_by("second-object")
class TheOnlyOne(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        (_only,) = setup.scene.objects
        return super().apply(setup, level)


@caught_by("no-simulator")
class AsksTheSimulator(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        import mujoco  # noqa: F401

        return super().apply(setup, level)


@caught_by("same-in-another-process")
class OrderOfASet(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        after = super().apply(setup, level)
        return replace(after, scene=replace(after.scene, name="".join({"a", "b", "c", "d", "e", "f", "g", "h"})))


# --- worlds ----------------------------------------------------------------------------------------------------------


@caught_by("tolerance")
class NegativeTolerance(Blameless):
    tolerance = float("inf")

    def difference(self, asked: Any, found: Any) -> float:
        return 0.0 if tuple(asked) == tuple(found) else float("nan")


@caught_by("read-back")
class ForgetsBlue(Blameless):
    def apply(self, setup: Any, level: Level) -> Any:
        red, green, blue = super().apply(setup, level).scene.object("geometry").color
        return super().apply(setup, Level(level.name, (red, green, min(blue, 250))))


@caught_by("read-back")
class RemembersTheFirst(Blameless):
    found: Any = None

    def read_back(self, world: Any) -> Any:
        self.found = self.found or super().read_back(world)
        return self.found


@caught_by("read-back")
class CannotRead(Blameless):
    def read_back(self, world: Any) -> Any:
        return world.read_scene().object("geometry").colour


@caught_by("read-back")
class OtherUnit(Blameless):
    def read_back(self, world: Any) -> Any:
        return tuple(channel / 255 for channel in super().read_back(world))


@caught_by("tells-levels-apart", "reads-the-world")
class GenerousTolerance(Blameless):
    tolerance = 255.0


@caught_by("reads-the-world")
class ReadsTheQuestion(Blameless):
    def read_back(self, world: Any) -> Any:
        return world.setup.scene.object("geometry").color


@caught_by("visible")
class Weights(Blameless):
    """Nobody sees how heavy it is."""

    LEVELS: ClassVar = {"light": 0.05, "heavy": 0.07}
    tolerance = 1e-6

    def sample(self, rng: np.random.Generator) -> Level:
        mass = round(float(rng.uniform(0.05, 0.07)), 4)
        return Level(f"m{mass:.4f}", mass)

    def apply(self, setup: Any, level: Level) -> Any:
        item = setup.scene.object("geometry")
        return replace(setup, scene=setup.scene.with_object(replace(item, mass=float(level.value))))

    def read_back(self, world: Any) -> Any:
        return world.read_scene().object("geometry").mass


@caught_by("composes")
class FromTheFile(Blameless):
    """Takes the object as it was when it saw it first."""

    def apply(self, setup: Any, level: Level) -> Any:
        after = super().apply(setup, level)
        item = replace(after.scene.object("geometry"), shape="cube")
        return replace(after, scene=after.scene.with_object(item))


@caught_by()
class Lamp(Blameless):
    """Another blameless one, of numbers."""

    LEVELS: ClassVar = {"dark": 0.1, "bright": 0.45}
    tolerance = 1e-6

    def sample(self, rng: np.random.Generator) -> Level:
        light = round(float(rng.uniform(0.1, 0.45)), 3)
        return Level(f"l{light:.3f}", light)

    def apply(self, setup: Any, level: Level) -> Any:
        headlight = Headlight(ambient=float(level.value))
        return replace(setup, scene=replace(setup.scene, headlight=headlight))

    def read_back(self, world: Any) -> Any:
        return world.read_scene().headlight.ambient
