"""The run description: what to run, as data that a worker, a manifest and a resume can rebuild."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rbench.running.plan import Selection


@dataclass(frozen=True)
class Part:
    """A named contribution and the options it was given.

    Attributes:
        name: short, `distribution/name`, or `module:attribute` for an unpackaged one.
        options: as given; defaults are resolved by its option model.
        folder: the folder that an unpackaged one is imported from.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None


@dataclass(frozen=True)
class RunDescription:
    """Everything that decides the records of a run.

    Attributes:
        suite: name of a suite or path of a suite file.
        wrappers: outermost first.
        seed: the run seed, >= 0.
    """

    suite: str
    agent: Part
    wrappers: tuple[Part, ...] = ()
    vision: Part | None = None
    selection: Selection = field(default_factory=Selection)
    seed: int = 0
