"""Ambiguity: what an object can be taken for, and the attributes that tell it apart (RoboView-Bias, appendix A.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rbench.vision.scene_objects import SceneObject
from rbench_agent_sgl.options import Attribute


@dataclass(frozen=True)
class Choice:
    """The attributes that go before a noun, in order of priority.

    Attributes:
        unresolved: they do not tell the object from all others of its kind.
    """

    attributes: tuple[Attribute, ...] = ()
    unresolved: bool = False


def colliders(
    item: SceneObject, objects: Sequence[SceneObject], shared: Literal["any", "name_only"]
) -> tuple[SceneObject, ...]:
    """The other objects that it can be taken for: of one name, or (`any`) with a category in common."""

    def alike(other: SceneObject) -> bool:
        if item.name.casefold() == other.name.casefold():
            return True
        return shared == "any" and bool(_folded(item.category) & _folded(other.category))

    return tuple(other for other in objects if other.id != item.id and alike(other))


def chosen_attributes(
    item: SceneObject, others: Sequence[SceneObject], priority: Sequence[Attribute], most: int
) -> Choice:
    """The attributes that tell an object from the others.

    The first attribute in order of priority whose value no other object has; where there is none, those are
    accumulated in that order that rule out at least one of the objects left, until none is left or there are `most`.
    Neutral values (`normal`, empty) tell nothing apart, and nothing is known to differ from an unknown (empty) value.
    """
    if not others:
        return Choice()
    usable = [attribute for attribute in priority if _value(item, attribute) not in ("", "normal")]
    for attribute in usable:
        if all(_differ(item, other, attribute) for other in others):
            return Choice((attribute,))
    taken: list[Attribute] = []
    left = list(others)
    for attribute in usable:
        still = [other for other in left if not _differ(item, other, attribute)]
        if len(still) < len(left) and len(taken) < most:
            taken.append(attribute)
            left = still
    if left:
        return Choice(tuple(taken or usable[:most]), unresolved=True)
    return Choice(tuple(taken))


def _differ(item: SceneObject, other: SceneObject, attribute: Attribute) -> bool:
    value = _value(other, attribute)
    return value != "" and value != _value(item, attribute)


def _value(item: SceneObject, attribute: Attribute) -> str:
    return str(getattr(item, attribute)).casefold()


def _folded(words: Sequence[str]) -> set[str]:
    return {word.casefold() for word in words}
