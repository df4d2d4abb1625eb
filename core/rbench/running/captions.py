"""Pictures of one moment for people: cameras side by side, and a bar below that says what is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from rbench.record import EpisodeRecord
from rbench.running.lettering import Color, fitting, length, wrapped, write

Picture = npt.NDArray[np.uint8]

_BACKGROUND: Color = (22, 24, 29)
_TEXT, _DIM, _TRACK = (240, 240, 240), (160, 165, 175), (52, 56, 64)
#: A frame around the pictures shows at a glance which episodes did not succeed; success has none.
_COLORS: dict[str, Color] = {
    "success": (86, 190, 120),
    "failure": (222, 72, 66),
    "agent_error": (222, 72, 66),
    "unstable": (226, 140, 44),
    "infrastructure_error": (160, 165, 175),
}
_FRAME, _GAP = 4, 4
#: Seconds for which the bar names what has just happened.
_EVENT_SHOWN = 1.5


@dataclass(frozen=True)
class Sheet:
    """Puts pictures of cameras on one sheet: rows and columns as square as possible, the bar below.

    Args:
        cameras: in the order in which they are shown.
        height, width: of each picture, in pixels.
    """

    record: EpisodeRecord
    cameras: tuple[str, ...]
    height: int
    width: int

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the sheet in pixels; even, as H.264 wants it."""
        tall = self._rows * (self.height + _GAP) - _GAP + 2 * _FRAME + self._bar.height
        return tall + tall % 2, self._inner_width + self._inner_width % 2

    def compose(self, pictures: Mapping[str, Picture], time: float) -> Picture:
        """The sheet at a simulated time (s)."""
        height, width = self.size
        sheet = Image.new("RGB", (width, height), _BACKGROUND)
        draw = ImageDraw.Draw(sheet)
        bar_top = height - self._bar.height
        color = _COLORS[self.record.outcome]
        if not self.record.success:
            draw.rectangle((0, 0, width - 1, bar_top - 1), fill=color)
            draw.rectangle((_FRAME, _FRAME, width - 1 - _FRAME, bar_top - 1 - _FRAME), fill=_BACKGROUND)
        for number, name in enumerate(self.cameras):
            row, column = divmod(number, self._columns)
            corner = (_FRAME + column * (self.width + _GAP), _FRAME + row * (self.height + _GAP))
            sheet.paste(Image.fromarray(pictures[name]), corner)
            if len(self.cameras) > 1:
                _tag(draw, corner, name, self._font_size)
        self._caption(draw, bar_top, width, time)
        sheet.paste(self._bar, (0, bar_top), self._bar)
        return np.asarray(sheet)

    @property
    def _columns(self) -> int:
        return ceil(sqrt(len(self.cameras)))

    @property
    def _rows(self) -> int:
        return ceil(len(self.cameras) / self._columns)

    @property
    def _inner_width(self) -> int:
        return self._columns * (self.width + _GAP) - _GAP + 2 * _FRAME

    @property
    def _font_size(self) -> int:
        return max(10, min(24, self._inner_width // 30))

    @property
    def _line(self) -> int:
        return round(self._font_size * 1.5)

    @cached_property
    def _bar(self) -> Image.Image:
        """What of the bar does not change, on a transparent ground."""
        size, width = self._font_size, self._inner_width
        lines = wrapped(self.record.instruction, width - 2 * size, size, most=2)
        bar = Image.new("RGBA", (width, self._line * (2 + len(lines)) + size), (0, 0, 0, 0))
        draw = ImageDraw.Draw(bar)
        top = size // 2 + 3
        for line in lines:
            write(draw, (size, top), line, size, _TEXT)
            top += self._line
        write(draw, (size, top), fitting(self.record.episode, width - 7 * size, size), size, _DIM)
        top += self._line
        radius = size // 3
        middle = top + size * 2 // 3
        color = _COLORS[self.record.outcome]
        draw.ellipse((size, middle - radius, size + 2 * radius, middle + radius), fill=color)
        write(draw, (2 * size + radius, top), fitting(self._verdict, width - 12 * size, size), size, color)
        return bar

    @property
    def _verdict(self) -> str:
        record = self.record
        plain = record.success or record.reason == record.outcome
        return record.outcome.replace("_", " ") + ("" if plain else f": {record.reason.replace('_', ' ')}")

    def _caption(self, draw: ImageDraw.ImageDraw, top: int, width: int, time: float) -> None:
        """What changes from moment to moment: how far it is, the time, and what has just happened."""
        size, record = self._font_size, self.record
        share = min(1.0, time / record.sim_seconds) if record.sim_seconds else 1.0
        draw.rectangle((0, top, width, top + 2), fill=_TRACK)
        draw.rectangle((0, top, round(width * share), top + 2), fill=_COLORS[record.outcome])
        last = top + self._bar.height - size // 2 + 3 - self._line
        write(draw, (width - size, last - self._line), f"{time:.2f} s", size, _TEXT, right=True)
        recent = [e for e in record.events if time - _EVENT_SHOWN < e.time <= time + 1e-6]
        if recent:
            text = ": ".join(part for part in (recent[-1].name, recent[-1].detail) if part).replace("_", " ")
            write(draw, (width - size, last), fitting(text, width // 2, size), size, _DIM, right=True)


def _tag(draw: ImageDraw.ImageDraw, corner: tuple[int, int], name: str, size: int) -> None:
    x, y = corner
    wide = length(name, size) + size
    draw.rectangle((x, y, x + wide, y + round(1.5 * size)), fill=_BACKGROUND)
    write(draw, (x + size // 2, y + size // 6), name, size, _TEXT)
