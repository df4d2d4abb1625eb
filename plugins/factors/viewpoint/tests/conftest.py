"""A scene with two viewpoint cameras, and a world that claims to have built it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from rbench.scene import SceneDescription, Setup
from rbench.suites.scene_files import load_scene


@dataclass
class ClaimedWorld:
    """Holds a setup, and what a simulator is said to have made of its scene."""

    setup: Setup
    scene: SceneDescription

    def read_scene(self) -> SceneDescription:
        return self.scene


@pytest.fixture
def setup() -> Setup:
    scene = load_scene("tabletop")
    cameras = tuple(replace(c, viewpoint=c.name in ("front", "left_top")) for c in scene.cameras)
    return Setup(replace(scene, cameras=cameras), "Put the geometry into the box.")


@pytest.fixture
def claimed() -> type[ClaimedWorld]:
    return ClaimedWorld
