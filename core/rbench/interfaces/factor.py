"""Factors: samplers of one thing that is varied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from rbench.design import Level
from rbench.interfaces.world import World
from rbench.scene import Setup


class Factor(ABC):
    """A sampler: a pure function on a `Setup`. Called as `Factor(options)`.

    `tolerance` is the largest difference between `read_back` and a level's value that still counts as
    equal (0 for text and counts); its unit is that of the value.

    `groups` names the group of a level (its colour family, say), for summaries by group; levels need not have one.
    """

    tolerance: float = 0.0
    groups: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def levels(self) -> Sequence[Level]:
        """The enumerated design, in order; names are unique and match `[a-z0-9][a-z0-9._-]*`."""

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> Level:
        """A random setting, for domain randomisation and sensitivity analysis."""

    @abstractmethod
    def apply(self, setup: Setup, level: Level) -> Setup:
        """The setup with this level; never touches the simulator, never mutates."""

    @abstractmethod
    def read_back(self, world: World) -> Any:
        """The value as found in a world that was built without jitter; comparable with `Level.value`.

        Implementations read `world.read_scene()`, the description recovered from the simulator, so that a
        level that was asked for but not built is noticed.
        """

    def difference(self, asked: Any, found: Any) -> float:
        """Largest absolute difference between two values: numbers, equal-shaped lists or tables of them.

        Other values differ by 0 when equal and by infinity when not.
        """
        if isinstance(asked, bool) or isinstance(found, bool):
            return 0.0 if asked == found else float("inf")
        if isinstance(asked, (int, float)) and isinstance(found, (int, float)):
            return abs(float(asked) - float(found))
        if isinstance(asked, (list, tuple)) and isinstance(found, (list, tuple)) and len(asked) == len(found):
            return max((self.difference(a, b) for a, b in zip(asked, found, strict=True)), default=0.0)
        if isinstance(asked, dict) and isinstance(found, dict) and asked.keys() == found.keys():
            return max((self.difference(asked[k], found[k]) for k in asked), default=0.0)
        return 0.0 if asked == found else float("inf")
