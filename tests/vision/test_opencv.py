"""The embedded eye finds the solid and the box in pixels, and says when it does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from rbench.errors import UsageError
from rbench.interfaces.vision import Question
from rbench.plugins.catalog import Catalog
from rbench.scene import Texture
from rbench.vision.classical.regions import parts, regions
from rbench.vision.opencv import OpenCv, Options
from rbench.vision.questions import Box, PickAndPlace


def seen(image: np.ndarray, **options: float) -> PickAndPlace:
    question = Question("test.locate/1", "Where?", (image,), PickAndPlace)
    answer = OpenCv(Options(**options)).ask(question, np.random.default_rng(0)).value
    assert isinstance(answer, PickAndPlace)
    return answer


def overlap(box: Box | None, truth: tuple[float, ...]) -> float:
    """Intersection over union; 0 when there is no box."""
    if box is None:
        return 0.0
    a, b = box.root, truth
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(0.0, wide) * max(0.0, high)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def require_both(picture: Any, least: float = 0.7) -> None:
    answer = seen(picture.image)
    assert overlap(answer.start_xyxy, picture.boxes["geometry"]) > least
    assert overlap(answer.end_xyxy, picture.boxes["box"]) > least


@pytest.mark.gl
@pytest.mark.parametrize("camera", ["front", "left_top", "right_top"])
@pytest.mark.parametrize("shape", ["cube", "cylinder", "pyramid", "prism"])
def test_finds_every_shape_in_every_view(photograph: Callable[..., Any], shape: str, camera: str) -> None:
    require_both(photograph(shape=shape, camera=camera))


@pytest.mark.gl
@pytest.mark.parametrize(
    "color",
    [(255, 0, 0), (255, 165, 0), (0, 128, 0), (0, 0, 255), (128, 0, 128), (128, 128, 128), (255, 255, 255), (0, 0, 0)],
)
def test_finds_colours_all_around_the_wheel_and_none(photograph: Callable[..., Any], color: tuple[int, ...]) -> None:
    require_both(photograph(color=color))


@pytest.mark.gl
@pytest.mark.parametrize(("camera", "y"), [("front", 0.045), ("left_top", 0.03), ("left_top", -0.06)])
def test_tells_a_golden_solid_from_the_golden_box_beside_it(
    photograph: Callable[..., Any], camera: str, y: float
) -> None:
    require_both(photograph(color=(255, 215, 0), position=(0.49, y), camera=camera))


def test_a_region_is_cut_at_its_neck() -> None:
    mask = np.zeros((80, 120), dtype=np.bool_)
    mask[10:60, 10:70] = True
    mask[55:75, 68:90] = True
    (whole,) = regions(mask, 10)
    large, small = parts(whole)
    assert overlap(Box(tuple(map(float, large.box))), (10, 10, 70, 60)) > 0.9
    assert overlap(Box(tuple(map(float, small.box))), (68, 55, 90, 75)) > 0.8


def test_one_convex_thing_is_not_cut() -> None:
    mask = np.zeros((80, 120), dtype=np.bool_)
    mask[10:60, 10:100] = True
    assert len(parts(regions(mask, 10)[0])) == 1


@pytest.mark.gl
@pytest.mark.parametrize(
    "table",
    [
        Texture("flat", (128, 128, 128)),
        Texture("noise", (200, 170, 130), (185, 155, 118), 0.02),
        Texture("checker", (60, 80, 120), (50, 70, 110), 0.05),
    ],
    ids=["grey", "beech", "blue tiles"],
)
def test_knows_no_particular_table(photograph: Callable[..., Any], table: Texture) -> None:
    require_both(photograph(table=table))


@pytest.mark.gl
@pytest.mark.parametrize("size", [112, 336])
def test_the_size_of_the_picture_does_not_matter_much(photograph: Callable[..., Any], size: int) -> None:
    require_both(photograph(size=size), least=0.6)


@pytest.mark.gl
def test_does_not_see_a_solid_that_has_the_colour_of_the_table(photograph: Callable[..., Any]) -> None:
    table = Texture("flat", (120, 80, 60))
    answer = seen(photograph(color=(120, 80, 60), table=table).image)
    assert answer.object is None
    assert answer.destination is not None


@pytest.mark.gl
def test_the_option_contrast_is_how_much_a_thing_must_stand_out(photograph: Callable[..., Any]) -> None:
    picture = photograph(color=(188, 143, 143))
    assert seen(picture.image).object is not None
    assert seen(picture.image, contrast=30).object is None


@pytest.mark.gl
@pytest.mark.parametrize("camera", ["front", "left_top"])
def test_sees_no_solid_where_there_is_none(photograph: Callable[..., Any], camera: str) -> None:
    answer = seen(photograph(objects=False, camera=camera).image)
    assert answer.object is None
    assert answer.destination is not None


@pytest.mark.gl
def test_the_same_picture_gives_the_same_answer(photograph: Callable[..., Any]) -> None:
    image = photograph().image
    assert seen(image) == seen(image.copy())


@pytest.mark.parametrize("level", [0, 128, 255])
def test_sees_nothing_in_an_even_picture(level: int) -> None:
    answer = seen(np.full((64, 96, 3), level, dtype=np.uint8))
    assert answer.object is None
    assert answer.destination is None


def test_sees_no_sense_in_noise_but_does_not_fall_over() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (80, 120, 3), dtype=np.uint8)
    assert seen(noise).destination is None


def test_a_question_it_cannot_answer_is_refused_by_name() -> None:
    class Mood(BaseModel):
        mood: str

    with pytest.raises(UsageError, match=r"Mood.*PickAndPlace.*--vision"):
        OpenCv().ask(Question("q/1", "", (), Mood), np.random.default_rng(0))


def test_it_is_in_the_catalog_under_its_name(catalog: Catalog) -> None:
    assert isinstance(catalog.make("vision-model", "opencv", {"contrast": 9}), OpenCv)


def test_opencv_is_imported_only_to_look() -> None:
    code = "import sys, rbench.vision.opencv as m; m.OpenCv(); assert 'cv2' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
