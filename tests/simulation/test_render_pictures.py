"""What a picture shows: upright, RGB, metric depth, geoms by number."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np
import pytest

from rbench.errors import UsageError
from rbench.simulation.profiles import render_profile
from rbench.simulation.rendering import Renderer

pytestmark = pytest.mark.gl

#: Seen from `down`, 1 m above: a red cube above and to the left of a blue one, nothing else alike.
TWO_CUBES = """
<mujoco>
  <statistic extent="1"/>
  <visual><map znear="0.01" zfar="20"/><headlight ambient=".4 .4 .4" diffuse=".2 .2 .2" specular="0 0 0"/></visual>
  <worldbody>
    <light directional="true" pos="0 0 2" dir=".3 .2 -1" diffuse=".3 .3 .3" specular="0 0 0"/>
    <geom name="floor" type="box" size="1 1 .01" pos="0 0 -.01" rgba=".6 .6 .6 1"/>
    <geom name="red" type="box" size=".1 .1 .05" pos="-.2 .15 .05" rgba="1 0 0 1"/>
    <geom name="blue" type="box" size=".1 .1 .1" pos=".2 -.1 .1" rgba="0 0 1 1"/>
    <camera name="down" pos="0 0 1" fovy="60"/>
    <camera name="up" pos="0 0 1" xyaxes="1 0 0 0 -1 0" fovy="60"/>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(TWO_CUBES)


@pytest.fixture(scope="module")
def data(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return data


@pytest.fixture(scope="module")
def renderer(model: mujoco.MjModel) -> Iterator[Renderer]:
    renderer = Renderer(model, render_profile("standard"))
    yield renderer
    renderer.close()


def centre(mask: np.ndarray) -> tuple[float, float]:
    rows, columns = np.nonzero(mask)
    return float(rows.mean()), float(columns.mean())


def test_pictures_are_upright_not_mirrored_and_rgb(renderer: Renderer, data: mujoco.MjData) -> None:
    picture = renderer.rgb(data, "down", 96, 128).astype(int)
    assert picture.shape == (96, 128, 3)
    red = (picture[..., 0] > 80) & (picture[..., 2] < 20)
    blue = (picture[..., 2] > 80) & (picture[..., 0] < 20)
    assert red.sum() > 100
    assert blue.sum() > 100
    (red_row, red_column), (blue_row, blue_column) = centre(red), centre(blue)
    assert red_row < blue_row
    assert red_column < blue_column


def test_segmentation_lies_over_the_picture(renderer: Renderer, model: mujoco.MjModel, data: mujoco.MjData) -> None:
    geoms = renderer.segmentation(data, "down", 96, 128)
    picture = renderer.rgb(data, "down", 96, 128)
    assert geoms.dtype == np.int32
    assert set(np.unique(geoms)) == {model.geom(name).id for name in ("floor", "red", "blue")}
    assert (picture[geoms == model.geom("red").id].argmax(axis=1) == 0).all()


def test_pixels_without_a_geom_are_minus_one_and_infinitely_far(renderer: Renderer, data: mujoco.MjData) -> None:
    assert (renderer.segmentation(data, "up", 32, 32) == -1).all()
    assert np.isinf(renderer.depth(data, "up", 32, 32)).all()


def test_depth_is_metres_along_the_optical_axis(renderer: Renderer, model: mujoco.MjModel, data: mujoco.MjData) -> None:
    depth = renderer.depth(data, "down", 96, 128)
    geoms = renderer.segmentation(data, "down", 96, 128)
    assert depth.dtype == np.float32
    # Along the axis the floor is equally far in the corners of the picture.
    assert np.allclose(depth[geoms == model.geom("floor").id], 1.0, atol=1e-4)
    assert np.median(depth[geoms == model.geom("red").id]) == pytest.approx(0.9, abs=1e-4)
    assert np.median(depth[geoms == model.geom("blue").id]) == pytest.approx(0.8, abs=1e-4)


def test_a_changed_colour_shows_in_the_next_picture_and_goes_without_trace(
    renderer: Renderer, model: mujoco.MjModel, data: mujoco.MjData
) -> None:
    before = renderer.rgb(data, "down", 64, 64)
    model.geom("red").rgba = (0, 1, 0, 1)
    changed = renderer.rgb(data, "down", 64, 64)
    model.geom("red").rgba = (1, 0, 0, 1)
    assert (changed != before).any()
    assert renderer.rgb(data, "down", 64, 64).tobytes() == before.tobytes()


def test_pictures_may_grow_after_the_first(renderer: Renderer, data: mujoco.MjData) -> None:
    small = renderer.rgb(data, "down", 48, 48)
    assert renderer.rgb(data, "down", 900, 1100).shape == (900, 1100, 3)
    assert renderer.rgb(data, "down", 48, 48).tobytes() == small.tobytes()


@pytest.mark.parametrize("size", [(0, 64), (64, -1), (64, 5000)])
def test_impossible_sizes_are_refused_with_the_limit(
    renderer: Renderer, data: mujoco.MjData, size: tuple[int, int]
) -> None:
    with pytest.raises(UsageError, match="1 to 2048 pixels"):
        renderer.rgb(data, "down", *size)


def test_an_unknown_camera_is_refused_with_near_names(renderer: Renderer, data: mujoco.MjData) -> None:
    with pytest.raises(UsageError, match=r"'dawn' does not exist.*'down'"):
        renderer.rgb(data, "dawn", 8, 8)


def test_every_picture_is_an_array_of_its_own(renderer: Renderer, data: mujoco.MjData) -> None:
    first = renderer.rgb(data, "down", 16, 16)
    copy = first.copy()
    second = renderer.rgb(data, "up", 16, 16)
    assert not np.shares_memory(first, second)
    assert (first == copy).all()


def test_shadows_belong_to_the_standard_profile_only(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    pictures = {}
    for name in ("standard", "fast"):
        renderer = Renderer(model, render_profile(name))
        pictures[name] = renderer.rgb(data, "down", 96, 128).astype(int)
        renderer.close()
    darker = (pictures["fast"] - pictures["standard"]).max(axis=2) > 30
    assert 20 < darker.sum() < 3000


def test_what_drew_a_picture_is_known(renderer: Renderer, data: mujoco.MjData) -> None:
    renderer.rgb(data, "down", 8, 8)
    info = renderer.info()
    assert info["backend"] in ("egl", "osmesa", "glfw", "cgl", "wgl")
    assert info["renderer"] and info["vendor"] and info["version"]


def test_a_closed_renderer_says_so(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    renderer = Renderer(model, render_profile("fast"))
    renderer.rgb(data, "down", 8, 8)
    renderer.close()
    renderer.close()
    with pytest.raises(UsageError, match="closed"):
        renderer.rgb(data, "down", 8, 8)


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'standart'.*Did you mean 'standard'"):
        render_profile("standart")
