"""The design of a study: levels, dimensions, contexts, instances, episodes (design words)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Level:
    """One setting of a factor: a readable name and its plain-data value."""

    name: str
    value: Any


@dataclass(frozen=True)
class Context:
    """One setting of the context factors: a name (`base`, `position-p2`) and the level of each."""

    name: str
    levels: Mapping[str, str]


@dataclass(frozen=True)
class Dimension:
    """One line of the study: a visual factor over its levels, or a grid of two.

    Attributes:
        name: the factor's name, or two joined by `+`.
        levels: for each factor of the dimension its level names, in order.
        contexts: names of the contexts it is run in.
        repeats: runs of each instance.
    """

    name: str
    levels: Mapping[str, tuple[str, ...]]
    contexts: tuple[str, ...]
    repeats: int

    @property
    def factors(self) -> tuple[str, ...]:
        return tuple(self.levels)

    @property
    def is_grid(self) -> bool:
        return len(self.levels) > 1

    @property
    def cells(self) -> int:
        """Number of level combinations."""
        count = 1
        for names in self.levels.values():
            count *= len(names)
        return count


@dataclass(frozen=True)
class Instance:
    """One cell of the design. `levels` names the level of every factor, baselines included."""

    id: str
    task: str
    dimension: str
    context: str
    levels: Mapping[str, str] = field(hash=False)
    repeats: int


@dataclass(frozen=True)
class Episode:
    """A run of an instance: (instance, repeat); its id is `INSTANCE#REPEAT`, repeats from 0."""

    instance: Instance
    repeat: int

    @property
    def id(self) -> str:
        return f"{self.instance.id}#{self.repeat}"


@dataclass(frozen=True)
class Design:
    """What metrics know of a suite: its dimensions, contexts, baselines and seed protocol.

    Attributes:
        planned: for each dimension the number of episodes that this run planned.
        groups: for each factor that has any, the group of its levels (colour families), for summaries by group.
    """

    suite: str
    dimensions: tuple[Dimension, ...]
    contexts: tuple[Context, ...]
    baselines: Mapping[str, str]
    seeds: Literal["shared", "independent"] = "shared"
    planned: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
