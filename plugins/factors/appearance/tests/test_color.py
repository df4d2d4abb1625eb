"""The factor `color`."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from PIL import ImageColor
from pydantic import ValidationError

from rbench.design import Level
from rbench.errors import UsageError
from rbench.scene import Setup
from rbench.suites.scene_files import load_scene
from rbench_factor_appearance.color import Color, Options, color_groups


@pytest.fixture
def color() -> Color:
    return Color(Options())


@pytest.fixture
def setup() -> Setup:
    return Setup(load_scene("tabletop"), "Put the geometry into the box.")


def test_there_are_141_colours_and_red_is_one(color: Color) -> None:
    names = [level.name for level in color.levels()]
    assert len(names) == len(set(names)) == 141
    assert "red" in names


@pytest.mark.parametrize("level", Color(Options()).levels(), ids=lambda level: level.name)
def test_every_value_is_what_css_says(level: Level) -> None:
    assert level.value == ImageColor.getrgb(level.name)


def test_the_only_equal_colours_are_the_two_pairs_of_css(color: Color) -> None:
    names: dict[object, list[str]] = {}
    for level in color.levels():
        names.setdefault(level.value, []).append(level.name)
    assert sorted(group for group in names.values() if len(group) > 1) == [["aqua", "cyan"], ["fuchsia", "magenta"]]


def test_every_colour_has_a_family(color: Color) -> None:
    assert color.groups == color_groups()
    assert set(color.groups) == {level.name for level in color.levels()}
    families = Counter(color.groups.values())
    assert families == {
        "blue": 27, "green": 20, "purple": 19, "brown": 17, "white": 17,
        "yellow": 11, "gray": 10, "red": 9, "pink": 6, "orange": 5,
    }  # fmt: skip


def test_only_the_colour_of_the_object_changes(color: Color, setup: Setup) -> None:
    changed = color.apply(setup, Level("teal", (0, 128, 128)))
    assert changed.scene.object("geometry").color == (0, 128, 128)
    assert setup.scene.object("geometry").color == (255, 0, 0)
    assert color.apply(changed, Level("red", (255, 0, 0))) == setup


def test_a_value_that_went_through_json_is_the_same(color: Color, setup: Setup) -> None:
    assert color.apply(setup, Level("teal", [0, 128, 128])) == color.apply(setup, Level("teal", (0, 128, 128)))


def test_an_unknown_object_is_refused_with_the_known_ones(setup: Setup) -> None:
    with pytest.raises(UsageError, match=r"no object 'sphere' \(it has: geometry\).*set its option `object`"):
        Color(Options(object="sphere")).apply(setup, Level("teal", (0, 128, 128)))


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValidationError):
        Options.model_validate({"objects": "geometry"})


def test_samples_follow_the_generator_and_have_valid_names(color: Color) -> None:
    drawn = [color.sample(np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]*", level.name) for level in drawn)
    values = np.array([color.sample(rng).value for rng in [np.random.default_rng(3)] for _ in range(300)])
    assert values.min() >= 0
    assert values.max() <= 255
    assert np.abs(values.mean(axis=0) - 127.5).max() < 15
