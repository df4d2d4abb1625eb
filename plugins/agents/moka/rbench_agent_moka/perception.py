"""The perception port: what finds boxes for names, and masks for boxes.

A backend is a class of each; both are made once a process and used for every episode, so they keep nothing of a
picture. They see upright RGB. Boxes are (x1, y1, x2, y2) pixels, measured at pixel edges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rbench_agent_moka.sight import Mask, Sight

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Settings:
    """What a backend is made with.

    Attributes:
        weights: the user's folder of weights.
        device: where the models run.
        text_threshold: least score of a word that counts as said of a box.
        detector_weights, segmenter_weights: file or folder of one model, instead of what is in `weights`.
        text_encoder: folder of the text encoder that a detector takes apart from its own weights.
        asked: the user named weights, so that `auto` must not go on without them.
    """

    weights: Path | None = None
    device: str = "cpu"
    text_threshold: float = 0.22
    detector_weights: Path | None = None
    segmenter_weights: Path | None = None
    text_encoder: Path | None = None
    asked: bool = False


@dataclass(frozen=True)
class Detection:
    """One box found for a name.

    Attributes:
        score: 0..1.
        label: the words that the model says the box is of; not always those it was asked for.
    """

    box: Box
    score: float
    label: str


class Backend:
    """What detectors and segmenters have in common. Made as `Backend(settings)`.

    Attributes:
        privileged: it reads ground truth.
        weights: SHA-256 of every file of weights that it was loaded from, by name.
    """

    privileged: ClassVar[bool] = False
    #: The extra of this distribution that installs its libraries; empty: it needs none.
    extra: ClassVar[str] = ""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.weights: dict[str, str] = {}

    @classmethod
    def missing(cls, settings: Settings) -> str | None:
        """Why it cannot be used here (library, folder or file) and what to do, or None. Loads nothing."""
        return None

    @classmethod
    def without(cls) -> str | None:
        """Which of its libraries are not installed and how to install them, or None. Imports none of them."""
        return None

    @classmethod
    def files(cls, settings: Settings) -> list[Path]:
        """The files of weights that are there for it, whether or not its libraries are."""
        return []


class Detector(Backend, ABC):
    """Finds boxes for names."""

    @abstractmethod
    def detect(self, sight: Sight, names: Sequence[str], threshold: float) -> list[list[Detection]]:
        """For each name the boxes that score at least `threshold`, best first; none is an ordinary outcome."""


class Segmenter(Backend, ABC):
    """Finds masks for boxes."""

    @abstractmethod
    def segment(self, sight: Sight, boxes: Sequence[Box]) -> list[Mask]:
        """For each box the mask (height, width) of the thing in it; a mask may be empty."""


def overlap(a: Box, b: Box) -> float:
    """Intersection over union of two boxes, 0..1."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)
