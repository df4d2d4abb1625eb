"""`rbench render`: the picture in the file is the one that the camera sees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rbench.cli import main
from rbench.geometry import Array
from rbench.plugins.catalog import Catalog
from rbench.running.worker import build_world
from rbench.scene import Setup
from rbench.simulation.cameras import intrinsics_of, opencv_extrinsics, project
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager

INSTANCE = "color/blue/position-p1"
HEIGHT, WIDTH = 120, 160


@pytest.fixture(scope="module")
def suite(catalog: Catalog) -> Suite:
    return load_suite(catalog, "roboview-bias")


@pytest.fixture(scope="module")
def setup(suite: Suite) -> Setup:
    manager = RecursiveVariantTaskManager(suite)
    return manager.setup(manager.instance(INSTANCE))


@pytest.fixture
def rendered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], Array]:
    """What the command wrote of a camera, as numbers (HEIGHT, WIDTH, 3)."""

    def render(camera: str) -> Array:
        file = tmp_path / "picture.png"
        size = ("--height", str(HEIGHT), "--width", str(WIDTH))
        assert main(["render", "roboview-bias", INSTANCE, "-o", str(file), "--camera", camera, *size]) == 0
        assert f"picture.png: {WIDTH} x {HEIGHT}, camera {camera}, {INSTANCE}" in capsys.readouterr().out
        with Image.open(file) as picture:
            assert (picture.format, picture.mode) == ("PNG", "RGB")
            return np.asarray(picture, dtype=np.float64)

    return render


def _blue(picture: Array) -> Array:
    return np.asarray(picture[..., 2] - picture[..., :2].max(axis=2) > 60)


def _yellow(picture: Array) -> Array:
    return np.asarray(picture[..., :2].min(axis=2) - picture[..., 2] > 60)


def _middle(mask: Array) -> tuple[float, float]:
    """Mean column and row."""
    rows, columns = np.nonzero(mask)
    return float(columns.mean()), float(rows.mean())


@pytest.mark.gl
@pytest.mark.parametrize("camera", ["front", "left_top", "right_top"])
def test_the_object_has_its_colour_where_the_world_sees_it(
    camera: str, rendered: Callable[[str], Array], suite: Suite, setup: Setup
) -> None:
    blue, yellow = _blue(rendered(camera)), _yellow(rendered(camera))
    world = build_world(suite)
    try:
        world.reset(setup, control_rate=20, cameras={})
        masks = world.masks(camera, HEIGHT, WIDTH)
    finally:
        world.close()
    for colored, mask in ((blue, masks["geometry"]), (yellow, masks["box"])):
        assert np.logical_and(colored, mask).sum() / np.logical_or(colored, mask).sum() > 0.85


@pytest.mark.gl
@pytest.mark.parametrize("camera", ["front", "left_top", "right_top"])
def test_the_object_is_where_geometry_puts_it(camera: str, rendered: Callable[[str], Array], setup: Setup) -> None:
    seen_by = setup.scene.camera(camera)
    extrinsics = opencv_extrinsics(seen_by.pose.matrix(), setup.scene.robot.pose)
    middle = np.array([setup.scene.object("geometry").pose.position])
    expected = project(middle, intrinsics_of(seen_by, HEIGHT, WIDTH), extrinsics)[0]
    assert _middle(_blue(rendered(camera))) == pytest.approx(tuple(expected), abs=2.0)


@pytest.mark.gl
def test_from_the_front_the_box_is_behind_the_object_and_to_its_left(rendered: Callable[[str], Array]) -> None:
    picture = rendered("front")
    (blue_column, blue_row), (yellow_column, yellow_row) = _middle(_blue(picture)), _middle(_yellow(picture))
    assert yellow_column < blue_column - 20
    assert yellow_row < blue_row - 10


@pytest.mark.parametrize("name", ["x.jpg", "x", "-", "png"])
def test_another_format_than_png_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["render", "roboview-bias", INSTANCE, "-o", name]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"-o {name}: only PNG files are written; give a path that ends with .png" in printed.err
    assert list(tmp_path.iterdir()) == []
