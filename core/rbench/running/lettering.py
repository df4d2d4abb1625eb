"""Text on pictures: one font that is always there, and what to do about characters that it lacks."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from math import ceil

from PIL import ImageDraw, ImageFont

Color = tuple[int, int, int]

#: Fonts of the system, tried in turn for text that the embedded one, which knows ASCII only, cannot show.
_OTHER_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "NotoSansCJK-Regular.ttc", "arial.ttf")
#: No character, so every font draws its sign for a missing one.
_NO_CHARACTER = "\uffff"


def write(
    draw: ImageDraw.ImageDraw, at: tuple[int, int], text: str, size: int, color: Color, *, right: bool = False
) -> None:
    """Draw a line of text; `at` is its upper left corner, or with `right` its upper right one."""
    text, font = _drawable(text, size)
    draw.text(at, text, fill=color, font=font, anchor="ra" if right else "la")


def length(text: str, size: int) -> int:
    """Width of a line in pixels."""
    text, font = _drawable(text, size)
    return ceil(font.getlength(text))


def fitting(text: str, width: int, size: int) -> str:
    """The text, its end cut off where there is no room for it."""
    short = text[:width]  # a character takes a pixel at least
    if short == text and length(text, size) <= width:
        return text
    # How many characters fit: halving, because measuring is slow and texts of agents may be long.
    fits, too_long = 0, len(short) + 1
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if length(short[:middle] + "...", size) <= width:
            fits = middle
        else:
            too_long = middle
    return short[:fits].rstrip() + "..."


def wrapped(text: str, width: int, size: int, most: int) -> list[str]:
    """The text in at most so many lines."""
    lines = [""]
    words = text[: 2 * most * width].split()
    for number, word in enumerate(words):
        longer = f"{lines[-1]} {word}".strip()
        if not lines[-1] or length(longer, size) <= width:
            lines[-1] = longer
        elif len(lines) < most:
            lines.append(word)
        else:
            lines[-1] = " ".join([lines[-1], *words[number:]])
            break
    return [fitting(line, width, size) for line in lines]


@lru_cache(maxsize=1024)
def _drawable(text: str, size: int) -> tuple[str, ImageFont.FreeTypeFont]:
    """The text and a font that shows all of it; without one, what can be shown of it."""
    embedded = _embedded_font(size)
    text = "".join(c if c.isprintable() else " " for c in text)
    if text.isascii():
        return text, embedded
    for name in _OTHER_FONTS:
        try:
            font = ImageFont.truetype(name, size)
        except OSError:
            continue
        if not any(_lacks(font, c) for c in text):
            return text, font
    plain = unicodedata.normalize("NFKD", text)
    return "".join(c for c in plain if not unicodedata.combining(c)), embedded


@lru_cache
def _embedded_font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def _lacks(font: ImageFont.FreeTypeFont, character: str) -> bool:
    return not character.isspace() and bytes(font.getmask(character)) == bytes(font.getmask(_NO_CHARACTER))
