"""Scene parsing: the question, asking it again, and words brought into the enumerations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rbench.errors import NoAnswer
from rbench.interfaces.vision import Question
from rbench.vision.asking import Interview
from rbench.vision.scene_objects import SceneObject, SceneObjects

#: Name and version of the question; a changed prompt is a new version, or recorded answers would be stale.
SCENE = "sgl.scene/1"
#: Kinds of failed replies that asking the same again would not mend.
FINAL = ("truncated", "refused")

_PROMPT = """You look at a robot's workplace. The robot was told: "{instruction}"
List every object that you can see clearly, the robot aside. Exactly one of them is what has to be moved or handled (the
manipulation object). At most one is what it has to end up in or on (the receiver object). All others are other objects.
Reply with one JSON list and nothing else. Each object is a JSON object with exactly these keys:
"ID": a different integer for each
"object_type": "manipulation object", "receiver object" or "other object"
"name": a short noun, such as "cube" or "bowl"
"category": a list of the kinds of thing it is. Think of what several objects have in common (a cube and a pyramid are
both "geometry", a cube and a box both have a "rectangular shape") and give the common word to each of them
"color": the name of its colour; two names where it lies between two, such as "blue purple"
"size": "small", "normal" or "big", next to the others
"position": "left", "right", "top" or "bottom" of the image, or "normal"
"state": "solid" or "hollow\""""

#: What each attribute may be, the neutral value first, and other words for it.
_VALUES = {
    "position": ("normal", "left", "right", "top", "bottom"),
    "size": ("normal", "small", "big"),
    "state": ("", "solid", "hollow"),
}
_SYNONYMS = {"position": {"middle": "normal", "center": "normal", "centre": "normal"}, "size": {"large": "big"}}


class NoScene(Exception):
    """No usable description of the scene; `reason` says why in one word, or a few."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Scene:
    """A usable description: one manipulation object, at most one receiver, ids that differ, enumerated values.

    Attributes:
        flags: what had to be changed, such as `1.position: inside`.
    """

    objects: tuple[SceneObject, ...]
    flags: tuple[str, ...] = ()

    @property
    def manipulated(self) -> SceneObject:
        """What has to be moved."""
        return next(o for o in self.objects if o.object_type == "manipulation object")

    @property
    def receiver(self) -> SceneObject | None:
        """What it has to end up in or on."""
        return next((o for o in self.objects if o.object_type == "receiver object"), None)


def scene_question(instruction: str, image: npt.NDArray[np.uint8]) -> Question:
    """What is there, and what is it to the instruction?"""
    return Question(SCENE, _PROMPT.replace("{instruction}", instruction), (image,), SceneObjects)


def parsed_scene(interview: Interview, question: Question, attempts: int) -> Scene:
    """The first usable description out of so many attempts.

    Raises:
        NoScene: the reason of the last one.
    """
    reason = ""
    for _ in range(attempts):
        try:
            answer = interview.ask(question)
        except NoAnswer as problem:
            reason = problem.kind
            if problem.kind in FINAL:
                break
            continue
        assert isinstance(answer, SceneObjects)
        fault = scene_fault(answer.root)
        if fault is None:
            return enumerated(answer.root)
        reason = fault
    raise NoScene(reason)


def scene_fault(objects: Sequence[SceneObject]) -> str | None:
    """Why a list of objects is no scene, or None."""
    roles = Counter(o.object_type for o in objects)
    if roles["manipulation object"] != 1:
        return f"{roles['manipulation object']} manipulation objects"
    if roles["receiver object"] > 1:
        return f"{roles['receiver object']} receiver objects"
    if len({o.id for o in objects}) != len(objects):
        return "duplicate ids"
    return None


def enumerated(objects: Sequence[SceneObject]) -> Scene:
    """The scene with positions, sizes and states brought to the values that they may have.

    `middle` and `center` are `normal`; what is nothing known becomes neutral, and is flagged.
    """
    flags: list[str] = []
    result = []
    for item in objects:
        update = {}
        for attribute, values in _VALUES.items():
            said = getattr(item, attribute)
            word = said.casefold()
            word = _SYNONYMS.get(attribute, {}).get(word, word)
            if word not in values:
                flags.append(f"{item.id}.{attribute}: {said}")
                word = values[0]
            update[attribute] = word
        result.append(item.model_copy(update=update))
    return Scene(tuple(result), tuple(flags))
