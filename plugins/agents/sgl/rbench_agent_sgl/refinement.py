"""Instruction refinement: the action with its objects named so that they can be told apart, and the trace of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rbench.vision.scene_objects import SceneObject
from rbench_agent_sgl.ambiguity import Choice, chosen_attributes, colliders
from rbench_agent_sgl.instruction import Action, core_action, receiver_noun, told_by_template
from rbench_agent_sgl.options import Options
from rbench_agent_sgl.scene import Scene

#: Where the words around the objects came from.
Source = Literal["grammar", "template", "model"]


@dataclass(frozen=True)
class Trace:
    """What became of an instruction, and why.

    Attributes:
        original: what the agent would have been told. refined: what it was told.
        reason: why the original was kept, or None.
        scene: what was seen. receiver_id: of the receiver, also when it was promoted.
        colliders: for an object's id, the ids of what it can be taken for. choices: its attributes.
        source: where the words around the objects came from.
    """

    original: str
    refined: str
    reason: str | None = None
    scene: Scene | None = None
    receiver_id: int | None = None
    colliders: dict[int, tuple[int, ...]] = field(default_factory=dict)
    choices: dict[int, Choice] = field(default_factory=dict)
    source: Source | None = None

    def plain(self) -> dict[str, Any]:
        """The trace as plain data, for the record."""
        scene = self.scene
        return {
            "original": self.original,
            "refined": self.refined,
            "fallback": self.reason is not None,
            "reason": self.reason,
            "objects": [o.model_dump(mode="json", by_alias=True) for o in scene.objects] if scene else [],
            "flags": list(scene.flags) if scene else [],
            "manip_id": scene.manipulated.id if scene else None,
            "receiver_id": self.receiver_id,
            "colliders": {str(one): list(others) for one, others in self.colliders.items()},
            "chosen": {str(one): list(choice.attributes) for one, choice in self.choices.items()},
            "unresolved": any(choice.unresolved for choice in self.choices.values()),
            "action": self.source,
        }


def kept(instruction: str, reason: str, scene: Scene | None = None) -> Trace:
    """The original instruction, and why."""
    return Trace(instruction, instruction, reason, scene)


def refined(instruction: str, action: Action | None, scene: Scene, options: Options, source: Source) -> Trace:
    """The instruction in terms of the scene.

    Args:
        action: the instruction with slots; None: the fixed template.
        source: where the action came from.
    """
    if not instruction.strip():
        return kept(instruction, "no instruction", scene)
    spoken = core_action(instruction)
    noun = receiver_noun(instruction)
    named = noun is not None or (action is not None and action.receiver is not None)
    receiver = scene.receiver
    if receiver is None and named:
        receiver = _promoted(noun, scene) if noun is not None and options.promote_receiver else None
        if receiver is None:
            return kept(instruction, "receiver missing", scene)
    if receiver is not None and not named and options.receiver_unsaid == "ignore":
        if action is None:  # the fixed template would say what the instruction does not
            return kept(instruction, "receiver unsaid", scene)
        receiver = None
    if receiver is not None and action is not None and action.receiver is None:
        action = None  # it has no slot for a receiver
    things = [scene.manipulated, *([receiver] if receiver else [])]
    alike = {item.id: colliders(item, scene.objects, options.shared) for item in things}
    choices = {item.id: _choice(item, alike[item.id], options) for item in things}
    nouns = (spoken.object.noun if spoken else None, noun)
    phrases = [_phrase(item, choices[item.id], said, options) for item, said in zip(things, nouns, strict=False)]
    told = phrases[1] if receiver else None
    if action is None:
        source = "template"
        text = told_by_template(
            instruction, phrases[0], told, hollow=receiver is not None and receiver.state == "hollow"
        )
    else:
        text = action.told(phrases[0], told)
    return Trace(
        instruction,
        text,
        scene=scene,
        receiver_id=receiver.id if receiver else None,
        colliders={one: tuple(o.id for o in others) for one, others in alike.items()},
        choices=choices,
        source=source,
    )


def _promoted(noun: str, scene: Scene) -> SceneObject | None:
    """The only other object that is called, or is, what the instruction calls the receiver."""
    wanted = noun.casefold()
    fitting = [
        item
        for item in scene.objects
        if item.object_type == "other object"
        and wanted in (item.name.casefold(), *(c.casefold() for c in item.category))
    ]
    return fitting[0] if len(fitting) == 1 else None


def _choice(item: SceneObject, alike: tuple[SceneObject, ...], options: Options) -> Choice:
    choice = chosen_attributes(item, alike, options.priority, options.max_attributes)
    if not alike and options.prefix_when_unambiguous and item.color:
        return replace(choice, attributes=("color",))
    return choice


def _phrase(item: SceneObject, choice: Choice, said: str | None, options: Options) -> str:
    """A determiner, the attributes in the order of English, and the noun; no word twice."""
    generic = {noun.casefold() for noun in options.generic_nouns}
    noun = item.name
    if noun.casefold() in generic and said is not None and said.casefold() not in generic:
        noun = said
    there = set(noun.casefold().split())
    values = [str(getattr(item, attribute)) for attribute in options.order if attribute in choice.attributes]
    before = [value for value in values if not set(value.casefold().split()) <= there]
    return " ".join(["the", *before, noun])
