"""The things of a scene that are picked up or put into, and which of them a few words mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rbench.geometry import Array, Vec3
from rbench.scene import SceneDescription

Kind = Literal["object", "receptacle"]

#: What people call an open box, a solid whatever its shape, and solids of some shape.
_RECEPTACLE_WORDS = frozenset({"box", "container", "bin", "tray", "receptacle", "crate", "bowl", "basket"})
_OBJECT_WORDS = frozenset({"geometry", "object", "thing", "item", "solid", "shape", "block", "toy", "piece"})
_SHAPE_WORDS = {
    "cube": frozenset({"cube", "cubic", "square", "dice"}),
    "cylinder": frozenset({"cylinder", "cylindrical", "disc", "puck", "can"}),
    "pyramid": frozenset({"pyramid", "cone", "triangle", "triangular"}),
    "prism": frozenset({"prism", "hexagon", "hexagonal"}),
}
#: What begins the words on where a thing is.
_PREPOSITIONS = frozenset(
    {"in", "inside", "into", "on", "onto", "of", "at", "by", "near", "next", "under", "with", "from"}
)


@dataclass(frozen=True)
class Thing:
    """A free body of a scene.

    Attributes:
        low, high: corners of its hull in its own frame, m.
        words: what it may be called.
    """

    name: str
    kind: Kind
    low: Vec3
    high: Vec3
    words: frozenset[str]

    def outside(self, points: Array) -> Array:
        """Distances (..., in m) of points (..., 3) in its own frame from its hull; 0 inside."""
        away = np.maximum(np.maximum(np.array(self.low) - points, points - np.array(self.high)), 0.0)
        return np.asarray(np.linalg.norm(away, axis=-1))


def things_of(scene: SceneDescription) -> tuple[Thing, ...]:
    """Objects first, then receptacles, each in the order of the scene."""
    found = []
    for item in scene.objects:
        x, y, z = (0.5 * side for side in item.size)
        words = _OBJECT_WORDS | _SHAPE_WORDS[item.shape] | _words(item.name)
        found.append(Thing(item.name, "object", (-x, -y, -z), (x, y, z), words))
    for box in scene.receptacles:
        x, y = (0.5 * side + box.wall for side in box.inner[:2])
        words = _RECEPTACLE_WORDS | _words(box.name)
        found.append(Thing(box.name, "receptacle", (-x, -y, 0.0), (x, y, box.wall + box.inner[2]), words))
    return tuple(found)


def kind_called(text: str) -> Kind | None:
    """Whether a few words name a receptacle or an object by what such things are called anywhere; None: neither.

    A "square toy box" is a box, and "the block in the box" a block: of the words before a preposition the last counts.
    """
    objects = _OBJECT_WORDS.union(*_SHAPE_WORDS.values())
    for word in reversed(_head(text)):
        if word in _RECEPTACLE_WORDS:
            return "receptacle"
        if word in objects:
            return "object"
    return None


def thing_called(scene: SceneDescription, text: str) -> Thing | None:
    """The thing of a scene that a few words mean, or None when they fit none of them better than the others.

    A word for another shape still names an object, if there is no other: what is called a cylinder may be a cube.
    """
    kind, words = kind_called(text), frozenset(_head(text))
    things = things_of(scene)
    scores = {thing.name: len(thing.words & words) for thing in things if kind in (None, thing.kind)}
    if not scores or (kind is None and not any(scores.values())):
        return None
    best = [name for name, score in scores.items() if score == max(scores.values())]
    return next(thing for thing in things if thing.name == best[0]) if len(best) == 1 else None


def _words(text: str) -> frozenset[str]:
    return frozenset(_ordered_words(text))


def _head(text: str) -> list[str]:
    """The words up to the first preposition; the rest says where the thing is."""
    words = _ordered_words(text)
    end = next((i for i, word in enumerate(words) if word in _PREPOSITIONS and i), len(words))
    return words[:end]


def _ordered_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
