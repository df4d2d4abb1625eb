"""The suite hash changes with what an episode is, and with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.design import Level
from rbench.plugins.catalog import Catalog
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite

Load = Callable[[str], Suite]


@pytest.mark.parametrize(
    ("fragment", "change"),
    [
        ('name = "small"', 'name = "smaller"'),
        ('render = "fast"', 'render = "standard"'),
        ('viewpoint_cameras = ["front"]', "viewpoint_cameras = []"),
        ('viewpoint_cameras = ["front"]', 'viewpoint_cameras = ["front"]\nextrinsics = "nominal"'),
        ("limit = 10.0", "limit = 11.0"),
        ("limit = 10.0", "limit = 10.0\nhold = 0.3"),
        ("limit = 10.0", 'limit = 10.0\ninstruction = "Do it."'),
        (', { released = "geometry" }', ""),
        ('"in_box"]', "]"),
        ('options = { object = "geometry" }', 'options = { object = "marker" }'),
        ('baseline = "red"', 'baseline = "green"'),
        ("[factors.paint]", "[factors.zooom]"),
        ('multiplicity = "paper"', 'multiplicity = "unique"'),
        ("repeats = 2", "repeats = 3"),
        ("repeats = 4", "repeats = 3"),
        ('seeds = "shared"', 'seeds = "independent"'),
        ("xy = 0.01", "xy = 0.02"),
        ("yaw = 20", "yaw = 10"),
        ('["red", "blue"] }\ncontext', '["blue", "red"] }\ncontext'),
        ('factors = ["zoom", "paint"]', 'factors = ["paint", "zoom"]'),
    ],
)
def test_what_decides_an_episode_is_in_the_hash(small: str, load: Load, fragment: str, change: str) -> None:
    text = small.replace("    { released", "{ released").replace(",\n{ released", ", { released")
    assert fragment in text
    changed = text.replace(fragment, change, 1)
    if change == "[factors.zooom]":
        changed = changed.replace('"paint"]', '"zooom"]').replace("paint =", "zooom =")
    assert load(changed).hash != load(text).hash


def test_the_scene_is_in_the_hash(small: str, suite_file: Callable[[str], Path], catalog: Catalog) -> None:
    path = suite_file(small)
    before = load_suite(catalog, str(path)).hash
    scene = path.parent / "tiny.toml"
    scene.write_text(scene.read_text().replace("wall = 0.005", "wall = 0.006"))
    assert load_suite(catalog, str(path)).hash != before


def test_the_values_of_levels_are_in_the_hash(small: str, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load(small).hash
    sampler = sys.modules["suite_test_factors"].Zoom
    monkeypatch.setattr(sampler, "LEVELS", (Level("near", 31.0), Level("far", 60.0)))
    assert load(small).hash != before


@pytest.mark.parametrize(
    ("fragment", "change"),
    [
        ("schema = 1", "# a comment\n\nschema   =   1"),
        ('metrics = ["bias"]', "metrics = []"),
        ("contexts = 2\n", "contexts = 3\n"),
        ("[presets.quick]", "[presets.other]"),
        ('options = { object = "geometry" }', ""),
        ("limit = 10.0", "limit = 10"),
        ("limit = 10.0", "limit = 10.0\nhold = 0.2"),
        ('render = "fast"', 'render = "fast"\nrequires = ["rbench"]'),
        ('use = "zoom"', 'use = "suite-test-factors/zoom"'),
    ],
)
def test_what_does_not_decide_an_episode_is_not(small: str, load: Load, fragment: str, change: str) -> None:
    assert fragment in small
    assert load(small.replace(fragment, change, 1)).hash == load(small).hash


PROGRAM = """
from rbench.plugins.catalog import build_catalog
from rbench.suites.loading import load_suite
print(load_suite(build_catalog(), "roboview-bias").hash)
"""


def test_the_hash_does_not_depend_on_python_s_own_hashing() -> None:
    hashes = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1
