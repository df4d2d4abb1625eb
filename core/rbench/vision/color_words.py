"""Words for colours in what models write: which there are in a text, and the colour that each stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

RGB = tuple[int, int, int]

#: Words that describe things but have no name in CSS, as people use them: the xkcd colour survey (2010, public domain).
_FURTHER: dict[str, RGB] = {
    "amber": (254, 179, 8),
    "bronze": (168, 121, 0),
    "burgundy": (97, 0, 35),
    "charcoal": (52, 56, 55),
    "copper": (182, 99, 37),
    "cream": (255, 255, 194),
    "emerald": (1, 160, 73),
    "lilac": (206, 162, 253),
    "mauve": (174, 113, 129),
    "mint": (159, 254, 176),
    "mustard": (206, 179, 1),
    "peach": (255, 176, 124),
    "rose": (207, 98, 117),
    "scarlet": (190, 1, 25),
}
#: Parts of names that CSS writes as one word; of two that begin alike the longer one first.
_PART = re.compile(
    "alice|almond|antique|blanched|blue|blush|brown|cadet|chiffon|coral|cornflower|cream|cyan|dark|deep|dim|dodger|drab|"
    "floral|forest|ghost|goldenrod|gray|green|hot|indian|khaki|lace|lavender|lawn|lemon|light|lime|magenta|medium|"
    "midnight|mint|misty|navajo|old|olive|orange|orchid|pale|papaya|peach|pink|powder|puff|purple|red|rebecca|rose|rosy|"
    "royal|saddle|salmon|sandy|seashell|sea|sky|slate|smoke|spring|steel|turquoise|violet|whip|white|aquamarine|yellow"
)
#: What one name is made of at most, in words.
_LONGEST = 4
_SAME = {"grey": "gray", "golden": "gold"}


@dataclass(frozen=True)
class ColorWord:
    """A colour word.

    Attributes:
        name: as people write it, lower case: `dark slate gray`.
        rgb: what it stands for, 0..255.
    """

    name: str
    rgb: RGB


@dataclass(frozen=True)
class Mention:
    """A colour word in a text, from character `begin` up to `end`."""

    word: ColorWord
    begin: int
    end: int


def mentions(text: str) -> tuple[Mention, ...]:
    """The colour words of a text in order; of several that begin at the same word the longest."""
    tokens = list(re.finditer(r"[^\W\d_]+", text))
    names = [_SAME.get(token.group().casefold(), token.group().casefold()) for token in tokens]
    known, found, place = _known(), [], 0
    while place < len(names):
        for count in range(min(_LONGEST, len(names) - place), 0, -1):
            word = known.get("".join(names[place : place + count]))
            if word is not None:
                found.append(Mention(word, tokens[place].start(), tokens[place + count - 1].end()))
                place += count
                break
        else:
            place += 1
    return tuple(found)


@cache
def color_words() -> tuple[ColorWord, ...]:
    """All words that are known, by name: those of CSS (with one spelling of gray) and some more."""
    return tuple(sorted(_known().values(), key=lambda word: word.name))


@cache
def _known() -> dict[str, ColorWord]:
    """Words by their name without spaces."""
    from PIL import ImageColor

    css = {name: ImageColor.getrgb(name)[:3] for name in ImageColor.colormap if "grey" not in name}
    found = {}
    for name, rgb in {**css, **_FURTHER}.items():
        red, green, blue = rgb
        found[name] = ColorWord(_spaced(name), (red, green, blue))
    return found


def _spaced(name: str) -> str:
    """`darkslategray` as `dark slate gray`; a name that is not made of known parts stays as it is."""
    parts = _PART.findall(name)
    return " ".join(parts) if "".join(parts) == name else name
