"""The sheet around the pictures: it never covers them, fits any text, and shows failure at a glance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import ImageFont

from rbench.record import EpisodeRecord, Event, Hashes
from rbench.running import lettering
from rbench.running.captions import Sheet
from rbench.running.lettering import fitting, length, wrapped

HARD_TEXTS = [
    "把方块放进盒子里",
    "ضع المكعب في الصندوق",
    "Lege das größte Stück in die Schüssel – naïvely, très bien",
    "emoji \U0001f600 and e\u0301 combined, \u202e reversed",
    "half a pair \udc80, zero \0, bell \a, line\nbreak\ttab",
    "x" * 5000,
    "many words " * 500,
    "",
    " ",
]


@pytest.fixture
def record() -> Callable[..., EpisodeRecord]:
    def make(**changes: Any) -> EpisodeRecord:
        fields: dict[str, Any] = {
            "episode": "color/red/base#0", "instance": "color/red/base", "repeat": 0, "task": "geometry-in-box",
            "dimension": "color", "context": "base", "levels": {}, "values": {}, "jitter": {}, "seed": 0,
            "outcome": "failure", "reason": "time_limit", "success": False, "score": 0.5, "steps": 100,
            "sim_seconds": 5.0, "events": (Event(1.0, "grasped", "geometry"),),
            "instruction": "Put the geometry into the box.", "hashes": Hashes("", ""),
        }  # fmt: skip
        return EpisodeRecord(**(fields | changes))

    return make


def pictures(names: tuple[str, ...], height: int, width: int) -> dict[str, Any]:
    return {
        n: np.random.default_rng(i).integers(0, 255, (height, width, 3), dtype=np.uint8) for i, n in enumerate(names)
    }


def holds(sheet: Any, picture: Any, below: int = 0) -> bool:
    """Whether the picture stands on the sheet, unchanged from a row on."""
    height, width = picture.shape[:2]
    for row in range(sheet.shape[0] - height + 1):
        for column in range(sheet.shape[1] - width + 1):
            if (sheet[row + height - 1, column : column + width] == picture[-1]).all():
                return bool((sheet[row + below : row + height, column : column + width] == picture[below:]).all())
    return False


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("size", [(48, 64), (63, 47)])
def test_every_camera_is_there_and_nothing_covers_it(
    record: Callable[..., EpisodeRecord], count: int, size: tuple[int, int]
) -> None:
    names = ("a", "b", "c", "d", "e")[:count]
    shown = pictures(names, *size)
    sheet = Sheet(record(), names, *size)
    image = sheet.compose(shown, 1.0)
    assert image.shape == (*sheet.size, 3)
    assert image.shape[0] % 2 == image.shape[1] % 2 == 0
    below = 0 if count == 1 else 20  # the names of several cameras stand in their upper corners
    assert all(holds(image, picture, below) for picture in shown.values())


@pytest.mark.parametrize("text", HARD_TEXTS, ids=range(len(HARD_TEXTS)))
def test_any_text_can_be_drawn(record: Callable[..., EpisodeRecord], text: str) -> None:
    failed = record(instruction=text, episode=f"{text}#0", reason=text, events=(Event(0.5, text, text),))
    sheet = Sheet(failed, ("front",), 64, 96)
    image = sheet.compose(pictures(("front",), 64, 96), 1.0)
    assert image.shape == (*sheet.size, 3)
    assert image.shape[0] < 400


def test_ascii_text_needs_no_font_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ImageFont.truetype

    def embedded_only(font: Any, *arguments: Any, **more: Any) -> Any:
        assert not isinstance(font, str), f"asked for {font}"
        return real(font, *arguments, **more)

    monkeypatch.setattr(ImageFont, "truetype", embedded_only)
    assert length("Put this geometry into that box.", 17) > 100


def test_without_a_font_for_it_text_keeps_its_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lettering, "_OTHER_FONTS", ())
    assert lettering._drawable("tr\u00e8s gr\u00f6\u00dfe", 17)[0] == "tres gro\u00dfe"


@pytest.mark.parametrize("width", [40, 100, 300])
def test_text_is_cut_to_its_room(width: int) -> None:
    text = "Pick up the object and place it in the box " * 5
    assert length(fitting(text, width, 14), 14) <= width
    lines = wrapped(text, width, 14, most=2)
    assert len(lines) <= 2
    assert all(length(line, 14) <= width for line in lines)


def test_failure_has_a_red_frame_and_success_none(record: Callable[..., EpisodeRecord]) -> None:
    shown = pictures(("front",), 64, 96)
    failed = Sheet(record(), ("front",), 64, 96).compose(shown, 1.0)
    red, green, blue = failed[1, 1].tolist()
    assert red > 2 * max(green, blue)
    succeeded = Sheet(record(outcome="success", reason="goal", success=True), ("front",), 64, 96).compose(shown, 1.0)
    assert max(succeeded[1, 1].tolist()) < 40


def test_the_bar_shows_how_far_it_is(record: Callable[..., EpisodeRecord]) -> None:
    sheet = Sheet(record(), ("front",), 64, 96)
    shown = pictures(("front",), 64, 96)
    widths = []
    for time in (0.0, 2.5, 5.0):
        image = sheet.compose(shown, time)
        row = image[64 + 2 * 4 + 1]  # below the pictures and their frame
        widths.append(int((row[:, 0].astype(int) > 150).sum()))
    assert widths[0] <= 1
    assert widths[1] == pytest.approx(sheet.size[1] / 2, abs=2)
    assert widths[2] == sheet.size[1]


def test_an_episode_that_took_no_time_can_be_shown(record: Callable[..., EpisodeRecord]) -> None:
    Sheet(record(sim_seconds=0.0, steps=0), ("front",), 64, 96).compose(pictures(("front",), 64, 96), 0.0)
