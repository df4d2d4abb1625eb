"""A factor under test: the setups it is applied to, and the worlds they are built in."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from rbench.design import Level
from rbench.geometry import Pose
from rbench.interfaces.factor import Factor
from rbench.interfaces.world import World
from rbench.scene import SceneDescription, Setup
from rbench.simulation.gl import choose_gl, use_gl
from rbench.suites.scene_files import load_scene
from rbench.testing.called import CalledSubject
from rbench.testing.checks import CheckFailed, CheckSkipped
from rbench.testing.scenarios import INSTRUCTION
from rbench.testing.worlds import drawing_problem, fake_world, settle_gl
from rbench.values import content_hash, from_plain, to_plain

#: Levels beyond which an enumeration is taken for an endless one.
MOST_LEVELS = 100_000
#: Random levels that are looked at, and those of them that are built.
SAMPLES, BUILT_SAMPLES = 200, 3
#: The object that is put beside the scene's own, and where: metres to the left of the work area.
SECOND_OBJECT, ASIDE = "second-object", 0.18


@dataclass(frozen=True)
class Built:
    """A level, the setup it gave, and the value that was found in the world built from that."""

    level: Level
    setup: Setup
    found: Any


class FactorSubject(CalledSubject):
    """A factor under test. Every check gets setups that no other has seen, for a factor may spoil what it is given."""

    kind = "factor"
    base_class = Factor

    def prepare(self) -> None:
        super().prepare()
        _ = self._scene

    @cached_property
    def _scene(self) -> Any:
        scene = load_scene(self.expect.scene)
        if not any(camera.viewpoint for camera in scene.cameras):
            cameras = tuple(replace(c, viewpoint=c.mount == "world") for c in scene.cameras)
            scene = replace(scene, cameras=cameras)
        return to_plain(scene)

    def base(self) -> Setup:
        """A fresh setup: the scene of the checks and an instruction, with nothing applied."""
        return Setup(from_plain(SceneDescription, self._scene), INSTRUCTION)

    def two_objects(self) -> Setup:
        """The base with a second object beside the work area, unless there are several already."""
        setup = self.base()
        scene = setup.scene
        if len(scene.objects) != 1:
            return setup
        (item,) = scene.objects
        x, _, z = item.pose.position
        other = replace(item, name=SECOND_OBJECT, pose=Pose((x, scene.work_area[3] + ASIDE, z), item.pose.quaternion))
        return replace(setup, scene=replace(scene, objects=(item, other)))

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Its levels.

        Raises:
            CheckSkipped: they cannot be had, or written down, which the checks `levels` and `level-values` say.
        """
        try:
            return _plain(enumerated(self.made()))
        except CheckSkipped:
            raise
        except Exception as problem:
            raise CheckSkipped("its levels cannot be had; see check 'levels'") from problem

    @cached_property
    def samples(self) -> tuple[Level, ...]:
        """Random levels.

        Raises:
            CheckSkipped: they cannot be had, or written down, which the checks `sample` and `level-values` say.
        """
        try:
            return _plain(drawn(self.made(), 0))
        except CheckSkipped:
            raise
        except Exception as problem:
            raise CheckSkipped("sample() failed; see check 'sample'") from problem

    def applied(self, factor: Factor, level: Level, base: Setup | None = None) -> Setup:
        """A fresh setup with a level.

        Raises:
            CheckSkipped: it cannot be applied, which check `applies` says.
        """
        try:
            setup = factor.apply(self.base() if base is None else base, level)
        except Exception as problem:
            raise CheckSkipped(f"level {level.name!r} cannot be applied; see check 'applies'") from problem
        if not isinstance(setup, Setup):
            raise CheckSkipped("apply() gives no Setup; see check 'applies'")
        return setup

    def buildable(self, factor: Factor, level: Level) -> Setup:
        """As `applied`, of what a world can take.

        Raises:
            CheckSkipped: it cannot be applied, or is no plain data, which check `plain-setup` says.
        """
        setup = self.applied(factor, level)
        try:
            hash(setup)
        except TypeError as problem:
            raise CheckSkipped("its setups are no plain data; see check 'plain-setup'") from problem
        return setup

    def signature(self, factor: Factor, levels: tuple[Level, ...]) -> str:
        """A digest of what levels are and do."""
        return content_hash([[level.name, level.value, self.applied(factor, level)] for level in levels])

    def facts(self) -> dict[str, Any]:
        """What another process says: whether the simulator was needed, and what levels and samples do there."""
        factor = self.made()
        signature = self.signature(factor, (*enumerated(factor), *drawn(factor, 0)))
        return {"simulator": [name for name in SIMULATORS if name in sys.modules], "signature": signature}

    @cached_property
    def facts_elsewhere(self) -> dict[str, Any]:
        """`facts` of another process.

        Raises:
            CheckSkipped: it cannot be made or applied here. CheckFailed: another process could not do it.
        """
        self.signature(self.made(), (*self.levels, *self.samples))
        found: dict[str, Any] = self.in_another_process()
        return found

    @property
    def draws(self) -> bool:
        """Whether pictures can be drawn here, in the real world."""
        return self.expect.world != "fake" and drawing_problem() is None

    @contextlib.contextmanager
    def world(self) -> Iterator[World]:
        """The real world, drawn quickly; where only the fake one is wanted that, which builds whatever it is told."""
        if self.expect.world == "fake":
            yield fake_world()
            return
        settle_gl()
        use_gl(choose_gl())
        from rbench.simulation.profiles import render_profile  # they import the simulator: after the choice
        from rbench.simulation.world import MujocoWorld

        world = MujocoWorld(render_profile("fast"))
        try:
            yield world
        finally:
            world.close()

    @cached_property
    def built(self) -> tuple[Built, ...]:
        """Every level, some samples and the first level again, built in one world, one after the other.

        Raises:
            CheckSkipped: some level cannot be applied. CheckFailed: one cannot be built or read back.
        """
        factor, levels = self.made(), self.levels
        built = []
        with self.world() as world:
            for level in (*levels, *self.samples[:BUILT_SAMPLES], levels[0]):
                setup = self.buildable(factor, level)
                found = read_back(world, factor, level, setup)
                built.append(Built(level, setup, found))
        return tuple(built)


#: Import names of what a factor must not need.
SIMULATORS = ("mujoco",)


def enumerated(factor: Factor) -> tuple[Level, ...]:
    """The levels of a factor, as far as they are levels.

    Raises:
        ValueError: none, too many, or something else among them. What `levels()` raises is passed on.
    """
    levels = tuple(islice(factor.levels(), MOST_LEVELS + 1))
    if not levels:
        raise ValueError("levels() is empty")
    if len(levels) > MOST_LEVELS:
        raise ValueError(f"levels() gives more than {MOST_LEVELS} levels, if it ends at all")
    for level in levels:
        if not isinstance(level, Level) or not isinstance(level.name, str):
            raise ValueError(f"levels() holds {level!r}, which is no Level(name, value)")
    return levels


def drawn(factor: Factor, seed: int) -> tuple[Level, ...]:
    """Random levels of a factor.

    Raises:
        ValueError: it gave something else. What `sample()` raises is passed on.
    """
    rng = np.random.default_rng(seed)
    levels = tuple(factor.sample(rng) for _ in range(SAMPLES))
    for level in levels:
        if not isinstance(level, Level) or not isinstance(level.name, str):
            raise ValueError(f"sample() gave {level!r}, which is no Level(name, value)")
    return levels


def _plain(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """The levels as they are. Raises CheckSkipped where a value is no plain data."""
    for level in levels:
        try:
            to_plain(level.value)
        except TypeError as problem:
            raise CheckSkipped("its values are no plain data; see check 'level-values'") from problem
    return levels


def read_back(world: World, factor: Factor, level: Level, setup: Setup) -> Any:
    """The value found in a world that is built from a setup, without jitter.

    Raises:
        CheckFailed: it cannot be built or read back.
    """
    try:
        world.reset(setup, control_rate=20, cameras={})
    except Exception as problem:
        raise CheckFailed(
            f"level {level.name!r} cannot be built: {problem}", "give values that a scene can have; see rbench.scene"
        ) from problem
    try:
        return factor.read_back(world)
    except Exception as problem:
        raise CheckFailed(
            f"read_back() raised {type(problem).__name__}: {problem} at level {level.name!r}",
            "read world.read_scene(), and for text world.setup.instruction",
        ) from problem
