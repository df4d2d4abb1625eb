"""Every level of every factor is built as asked, and seen."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, binary_erosion

from rbench.observation import CameraRequest
from rbench.scene import Setup
from rbench.simulation.world import MujocoWorld
from rbench.suites.suite import Suite, SuiteFactor

FACTORS = ("color", "camera-pose", "camera-euler", "camera-distance", "position", "shape", "instruction")
COUNTS = dict(zip(FACTORS, (141, 21, 9, 9, 4, 4, 3), strict=True))
BASELINES = ("red", "default", "yaw0_pitch0", "d0.00", "p1", "cube", "i1")
SIDE = 128

every_factor = pytest.mark.parametrize("name", FACTORS)


def picture(world: MujocoWorld, setup: Setup, camera: str = "front", side: int = SIDE) -> np.ndarray:
    world.reset(setup, control_rate=20, cameras={})
    return world.render(camera, side, side)


@pytest.fixture(scope="module")
def colors(suite: Suite) -> SuiteFactor:
    return suite.factors["color"]


@pytest.fixture(scope="module")
def color_pictures(standard_world: MujocoWorld, base: Setup, colors: SuiteFactor) -> dict[str, np.ndarray]:
    """The front camera's picture of every colour."""
    return {lv.name: picture(standard_world, colors.factor.apply(base, lv)) for lv in colors.levels}


@pytest.fixture(scope="module")
def object_mask(standard_world: MujocoWorld, base: Setup) -> np.ndarray:
    standard_world.reset(base, control_rate=20, cameras={})
    return standard_world.masks("front", SIDE, SIDE)["geometry"]


def test_the_suite_has_the_factors_levels_and_baselines_of_the_benchmark(suite: Suite) -> None:
    assert {name: len(factor.levels) for name, factor in suite.factors.items()} == COUNTS
    assert tuple(suite.factors[name].baseline for name in FACTORS) == BASELINES


@every_factor
def test_every_level_is_built_as_asked(name: str, suite: Suite, base: Setup, fast_world: MujocoWorld) -> None:
    sampler = suite.factors[name].factor
    wrong = {}
    for level in suite.factors[name].levels:
        fast_world.reset(sampler.apply(base, level), control_rate=20, cameras={})
        found = sampler.read_back(fast_world)
        if not sampler.difference(level.value, found) <= sampler.tolerance:
            wrong[level.name] = found
    assert not wrong


@pytest.mark.gl
@every_factor
def test_every_level_but_the_baseline_changes_what_an_agent_observes(
    name: str, suite: Suite, base: Setup, fast_world: MujocoWorld
) -> None:
    factor = suite.factors[name]
    before = {camera: picture(fast_world, base, camera, 64) for camera in suite.viewpoint_cameras}
    same = []
    for level in factor.levels:
        setup = factor.factor.apply(base, level)
        seen = any((picture(fast_world, setup, c, 64) != before[c]).any() for c in suite.viewpoint_cameras)
        if not seen and setup.instruction == base.instruction:
            same.append(level.name)
    assert same == ([factor.baseline] if factor.changes(factor.baseline) else [])


@pytest.mark.gl
def test_every_colour_moves_the_object_towards_it(
    color_pictures: dict[str, np.ndarray], object_mask: np.ndarray, colors: SuiteFactor
) -> None:
    inside = binary_erosion(object_mask, iterations=2)
    assert inside.sum() > 100
    moves = {}
    for level in colors.levels:
        way = np.subtract(level.value, colors.level("red").value)
        if way.any():
            change = color_pictures[level.name][inside].mean(axis=0) - color_pictures["red"][inside].mean(axis=0)
            moves[level.name] = float(change @ way / np.linalg.norm(way))
    assert len(moves) == 140
    assert {name: move for name, move in moves.items() if move <= 20} == {}


@pytest.mark.gl
def test_no_colour_changes_anything_but_the_object(
    color_pictures: dict[str, np.ndarray], object_mask: np.ndarray
) -> None:
    outside = ~binary_dilation(object_mask, iterations=2)
    assert outside.sum() > 10_000
    red = color_pictures["red"].astype(int)
    changes = {name: np.abs(seen[outside] - red[outside]).max() for name, seen in color_pictures.items()}
    assert {name: change for name, change in changes.items() if change >= 3} == {}


@pytest.mark.gl
def test_141_colours_give_139_pictures(color_pictures: dict[str, np.ndarray]) -> None:
    assert len({seen.tobytes() for seen in color_pictures.values()}) == 139
    for one, other in (("aqua", "cyan"), ("fuchsia", "magenta")):
        assert color_pictures[one].tobytes() == color_pictures[other].tobytes()


@pytest.mark.gl
@pytest.mark.parametrize("camera", ["front", "left_top", "right_top"])
@pytest.mark.parametrize("shape", ["cube", "cylinder", "pyramid", "prism"])
def test_no_colour_is_clipped(
    camera: str, shape: str, suite: Suite, base: Setup, standard_world: MujocoWorld, colors: SuiteFactor
) -> None:
    shapes = suite.factors["shape"]
    setup = shapes.factor.apply(base, shapes.level(shape))
    # Light never adds up to more than the colour itself; the whitest colour is the nearest to 255 in every channel.
    seen = picture(standard_world, colors.factor.apply(setup, colors.level("white")), camera)
    shown = seen[standard_world.masks(camera, SIDE, SIDE)["geometry"]]
    assert (shown == 255).any(axis=1).mean() <= 0.01


@pytest.mark.gl
def test_every_colour_of_every_picture_is_below_the_limit_of_clipping(
    color_pictures: dict[str, np.ndarray], object_mask: np.ndarray
) -> None:
    clipped = {name: (seen[object_mask] == 255).any(axis=1).mean() for name, seen in color_pictures.items()}
    assert max(clipped.values()) <= 0.01


@pytest.mark.gl
def test_the_baseline_is_byte_identical_again_and_after_other_levels(
    suite: Suite, base: Setup, standard_world: MujocoWorld
) -> None:
    def look() -> list[str]:
        frames = [picture(standard_world, base, camera) for camera in ("front", "left_top", "right_top", "wrist")]
        return [hashlib.sha256(frame.tobytes()).hexdigest() for frame in frames]

    first = look()
    assert look() == first
    for factor in suite.factors.values():
        setup = factor.factor.apply(base, factor.levels[-1])
        standard_world.reset(setup, control_rate=20, cameras={})
        standard_world.render("front", SIDE, SIDE)
    assert look() == first


@pytest.mark.gl
def test_observations_are_upright_and_rgb(base: Setup, standard_world: MujocoWorld) -> None:
    standard_world.reset(base, control_rate=20, cameras={"front": CameraRequest(96, 128)})
    seen = standard_world.observe().cameras["front"].rgb.astype(int)
    red = (seen[..., 0] > 100) & (seen[..., 1] < 30) & (seen[..., 2] < 30)
    yellow = (seen[..., 0] > 100) & (seen[..., 1] > 80) & (seen[..., 2] < 30)
    masks = standard_world.masks("front", 96, 128)
    assert (masks["geometry"] & red).sum() > 0.8 * masks["geometry"].sum()
    (red_row, red_column), (box_row, box_column) = (np.argwhere(m).mean(axis=0) for m in (red, yellow))
    # From the front the box is farther away, so higher in the picture, and on the robot's right, so to the left.
    assert box_row < red_row
    assert box_column < red_column
