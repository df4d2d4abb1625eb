"""What the embedded policy looks at and how large it is: plain values that a checkpoint carries in its head."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rbench_agent_pi0.actions import CONTROL_RATE

#: Joints and gripper: of the state, and of a row of actions.
NUMBERS = 8
#: Place 0 of the vocabulary is padding, place 1 any word that was not in training.
PADDING, UNKNOWN = 0, 1
#: What a checkpoint may be called: it stands in commands and in tables.
NAME = r"[A-Za-z0-9._-]{1,60}"
#: Pixels of a side that become one token.
PATCH = 16
#: The largest of each number of a design: far beyond what was tried, and nothing that could not be held.
LARGEST = {"picture": 2048, "longest": 256, "width": 2048, "heads": 64, "layers": 64, "chunk": 256, "steps": 1000}


@dataclass(frozen=True)
class Eye:
    """What the policy sees of one camera.

    Attributes:
        camera: its name.
        crop: (left, top, right, bottom) in shares of the picture's sides; the rest is never seen.
        size: side of the square that the crop is reduced to, pixels; a multiple of 16.
    """

    camera: str
    crop: tuple[float, float, float, float]
    size: int

    def __post_init__(self) -> None:
        left, top, right, bottom = self.crop
        if not (0.0 <= left < right <= 1.0 and 0.0 <= top < bottom <= 1.0):  # NaN is in no order
            raise ValueError(f"camera {self.camera!r} has the crop {self.crop}, which is no part of a picture")
        if self.size % PATCH or not PATCH <= self.size <= LARGEST["picture"]:
            raise ValueError(f"camera {self.camera!r} is seen at {self.size} pixels, no multiple of {PATCH}")


@dataclass(frozen=True)
class Design:
    """The shape of a policy.

    Attributes:
        eyes: one encoder each, in this order. The wrist's crop holds what is between and just before the fingers: the
            object is not in it when an episode starts, so that the way there must come from the other picture.
        picture: side of the square pictures it was trained on, pixels.
        words: the vocabulary of its instructions, without padding and the unknown word.
        longest: words of an instruction that are read.
        width: numbers in a token. heads: of every attention. layers: of the action expert.
        chunk: rows of an answer. rate: Hz at which they follow each other.
        steps: of Euler's method from noise to actions.

    Raises:
        ValueError: no network could be made of these numbers, or none that the agent could ask.
    """

    eyes: tuple[Eye, ...] = field(
        default=(Eye("left_top", (0.0, 0.0, 1.0, 1.0), 48), Eye("wrist", (0.25, 0.5, 0.75, 1.0), 64))
    )
    picture: int = 128
    words: tuple[str, ...] = ()
    longest: int = 16
    width: int = 128
    heads: int = 4
    layers: int = 3
    chunk: int = 12
    rate: int = CONTROL_RATE
    steps: int = 10

    def __post_init__(self) -> None:
        for name, largest in LARGEST.items():
            if not 1 <= getattr(self, name) <= largest:
                raise ValueError(f"its {name} is {getattr(self, name)}, not 1 to {largest}")
        if self.width % (2 * self.heads):
            raise ValueError(f"its width of {self.width} is no even number for each of {self.heads} heads")
        if self.rate != CONTROL_RATE:
            raise ValueError(f"its rows follow each other at {self.rate} Hz, and the agent acts at {CONTROL_RATE}")
        if not 1 <= len({eye.camera for eye in self.eyes}) == len(self.eyes) <= 8:
            raise ValueError("it looks at no camera, at one twice, or at more than 8")

    def tokens(self, instruction: str) -> list[int]:
        """An instruction as places in the vocabulary, cut or padded to `longest`."""
        places = {word: place for place, word in enumerate(self.words, start=UNKNOWN + 1)}
        found = [places.get(word, UNKNOWN) for word in words_of(instruction)][: self.longest]
        return found + [PADDING] * (self.longest - len(found))


def words_of(text: str) -> list[str]:
    """The words of a text, small letters, without punctuation."""
    return re.findall(r"[a-z0-9]+", text.lower())


def vocabulary(instructions: Sequence[str]) -> tuple[str, ...]:
    """The words of some instructions, each once, in order of the alphabet."""
    return tuple(sorted({word for text in instructions for word in words_of(text)}))
