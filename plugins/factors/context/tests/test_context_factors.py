"""The factors `position`, `shape` and `instruction`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from rbench.design import Level
from rbench.errors import UsageError
from rbench.interfaces.factor import Factor
from rbench.scene import SceneDescription, Setup
from rbench.suites.scene_files import load_scene
from rbench_factor_context import instruction, position, shape
from rbench_factor_context.instruction import Instruction
from rbench_factor_context.position import Position
from rbench_factor_context.shape import Shape

FACTORS = (Position(position.Options()), Shape(shape.Options()), Instruction(instruction.Options()))
every_factor = pytest.mark.parametrize("factor", FACTORS, ids=lambda f: type(f).__name__)


class ClaimedWorld:
    """Holds a setup and claims to have built it."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def read_scene(self) -> SceneDescription:
        return self.setup.scene


@pytest.fixture
def setup() -> Setup:
    return Setup(load_scene("tabletop"), "")


@pytest.mark.parametrize(
    ("factor", "names"),
    [
        (FACTORS[0], ["p1", "p2", "p3", "p4"]),
        (FACTORS[1], ["cube", "cylinder", "pyramid", "prism"]),
        (FACTORS[2], ["i1", "i2", "i3"]),
    ],
    ids=["position", "shape", "instruction"],
)
def test_the_levels_are_those_of_the_benchmark(factor: Factor, names: list[str]) -> None:
    assert [level.name for level in factor.levels()] == names


@every_factor
def test_every_level_reads_back_as_asked_and_as_no_other(factor: Factor, setup: Setup) -> None:
    for level in factor.levels():
        world: Any = ClaimedWorld(factor.apply(setup, level))
        found = factor.read_back(world)
        near = [other.name for other in factor.levels() if factor.difference(other.value, found) <= factor.tolerance]
        assert near == [level.name]


@every_factor
def test_a_level_never_mutates_the_setup(factor: Factor, setup: Setup) -> None:
    before = setup.scene.hash()
    factor.apply(setup, factor.levels()[-1])
    assert (setup.scene.hash(), setup.instruction) == (before, "")


def test_a_position_keeps_height_and_everything_else(setup: Setup) -> None:
    changed = FACTORS[0].apply(setup, Level("p4", [0.57, -0.04]))
    assert changed.scene.object("geometry").pose.position == (0.57, -0.04, 0.025)
    assert FACTORS[0].apply(changed, Level("p1", [0.49, 0.04])) == setup


def test_the_baselines_are_the_scene_as_it_is(setup: Setup) -> None:
    for factor, name in zip(FACTORS[:2], ("p1", "cube"), strict=True):
        level = next(level for level in factor.levels() if level.name == name)
        assert factor.apply(setup, level) == setup


def test_a_shape_keeps_size_and_mass(setup: Setup) -> None:
    before = setup.scene.object("geometry")
    after = FACTORS[1].apply(setup, Level("prism", "prism")).scene.object("geometry")
    assert (after.shape, after.size, after.mass) == ("prism", before.size, before.mass)


def test_positions_lie_in_the_work_area_with_room_for_jitter(setup: Setup) -> None:
    x_min, x_max, y_min, y_max = setup.scene.work_area
    for level in FACTORS[0].levels():
        x, y = level.value
        assert x_min + 0.01 <= x <= x_max - 0.01
        assert y_min + 0.01 <= y <= y_max - 0.01


def test_no_instruction_names_a_colour_or_a_shape() -> None:
    forbidden = {"red", "yellow", "cube", "block", "cylinder", "pyramid", "prism", "hexagonal", "ball"}
    texts = [level.value for level in FACTORS[2].levels()]
    assert len(set(texts)) == 3
    for text in texts:
        words = set(re.findall("[a-z]+", text.lower()))
        assert not words & forbidden
        assert words & {"geometry", "object"}
        assert "box" in words


@every_factor
def test_samples_follow_the_generator_and_have_valid_names(factor: Factor) -> None:
    first, again = (factor.sample(np.random.default_rng(11)) for _ in range(2))
    assert first == again
    rng = np.random.default_rng(12)
    drawn = [factor.sample(rng) for _ in range(50)]
    assert len({level.name for level in drawn}) > 1
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]*", level.name) for level in drawn)


def test_sampled_positions_lie_between_the_levels() -> None:
    rng = np.random.default_rng(13)
    places = np.array([FACTORS[0].sample(rng).value for _ in range(100)])
    assert places.min(axis=0) == pytest.approx((0.49, -0.04), abs=0.006)
    assert places.max(axis=0) == pytest.approx((0.57, 0.04), abs=0.006)


@pytest.mark.parametrize(
    "factor",
    [Position(position.Options(object="ball")), Shape(shape.Options(object="ball"))],
    ids=["position", "shape"],
)
def test_an_unknown_object_is_refused_with_the_known_ones(factor: Factor, setup: Setup) -> None:
    with pytest.raises(UsageError, match=r"no object 'ball' \(it has: geometry\).*set its option `object`"):
        factor.apply(setup, factor.levels()[0])


@pytest.mark.parametrize("options", [position.Options, shape.Options, instruction.Options])
def test_unknown_options_are_refused(options: type[BaseModel]) -> None:
    with pytest.raises(ValidationError):
        options.model_validate({"places": 3})


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(ValidationError):
        shape.Options.model_validate({"shapes": ["cube", "torus"]})
