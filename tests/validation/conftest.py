"""A small suite over a copy of the built-in scene, in which tests change a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path

import pytest

from rbench.plugins.catalog import Catalog
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite

SUITE = """
schema = 1
name = "looked-at"
viewpoint_cameras = ["front"]
[[tasks]]
name = "geometry-in-box"
scene = "scene.toml"
instruction = "Put the object in the box."
goal = [{ in_container = { object = "geometry", container = "box" } }]
limit = 15.0
[factors.camera-distance]
use = "camera-distance"
role = "visual"
baseline = "d0.00"
"""


@pytest.fixture
def suite_text() -> str:
    return SUITE


@pytest.fixture
def looked_at(catalog: Catalog, tmp_path: Path) -> Callable[..., Suite]:
    """The suite, with pieces of its scene's text replaced, and more text at the end of its own file."""

    def load(changes: Mapping[str, str] | None = None, more: str = "") -> Suite:
        scene = files("rbench.suites").joinpath("scenes", "tabletop.toml").read_text()
        for before, after in (changes or {}).items():
            assert scene.count(before) == 1, before
            scene = scene.replace(before, after)
        (tmp_path / "scene.toml").write_text(scene)
        (tmp_path / "looked-at.toml").write_text(SUITE + more)
        return load_suite(catalog, str(tmp_path / "looked-at.toml"))

    return load
