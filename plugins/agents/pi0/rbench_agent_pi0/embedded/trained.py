"""What a checkpoint says of its training: recipe, data and curve, as its card needs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from rbench_agent_pi0.embedded.augmentation import Augmentation


@dataclass(frozen=True)
class Recipe:
    """How a policy is trained.

    Attributes:
        rate: learning rate after `warm_up` steps; a cosine brings it down from there.
        every: steps between points of the curve, where everything is saved.
    """

    steps: int = 3200
    batch: int = 64
    rate: float = 8e-4
    warm_up: int = 100
    seed: int = 0
    every: int = 100
    augmentation: Augmentation = field(default_factory=Augmentation)


@dataclass(frozen=True)
class Point:
    """A point of the curve: losses after so many steps and seconds of processor time."""

    step: int
    seconds: float
    loss: float
    held_out: float

    def __post_init__(self) -> None:
        require_finite("its curve", self.seconds, self.loss, self.held_out)


@dataclass(frozen=True)
class Data:
    """The demonstrations it was trained on.

    Attributes:
        frames: moments in all. content: SHA-256 of pictures and actions as they were read.
    """

    suite: str
    agent: str
    seed: int
    demonstrations: int
    held_out: int
    frames: int
    instructions: tuple[str, ...]
    content: str


@dataclass(frozen=True)
class Trained:
    """All of it. Threads and device are absent in what was written before they were kept."""

    recipe: Recipe
    data: Data
    curve: tuple[Point, ...]
    threads: int = 1
    device: Literal["cpu", "cuda"] = "cpu"


def require_finite(what: str, *numbers: float) -> None:
    """Refuse NaN and infinities.

    Raises:
        ValueError: there is one.
    """
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"{what} holds numbers that are not finite")
