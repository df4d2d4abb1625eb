"""Options of the wrapper `sgl`: one for everything that the paper leaves open."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

#: What can be put before a noun.
Attribute = Literal["color", "state", "size", "position"]
ALL: tuple[Attribute, ...] = ("color", "state", "size", "position")


class Options(BaseModel):
    """Options of the wrapper `sgl`.

    Attributes:
        vision: name of the vision model it asks, instead of that of the run; vision_options: options of that one.
        camera: whose picture it shows; none: the agent's primary camera, else its first with colour, else `front`.
        height, width: of that picture in pixels, where the agent does not take it itself.
        attempts: how often it asks in all when a description of the scene cannot be used.
        shared: when two objects are of a kind. `any`: they share a category or the name; `name_only`: the name.
        priority: which attribute is tried first (the paper's order).
        max_attributes: how many are put before a noun at most.
        order: how they are ordered before the noun, as in "left red cube".
        prefix_when_unambiguous: puts the colour before a noun that nothing else can be taken for, too.
        generic_nouns: nouns that say nothing: where the model gives one, the instruction's own is kept.
        action: where the words around the objects come from. `grammar`: from the instruction, by rule; `model`: from
            a second question.
        receiver_unsaid: what becomes of a receiver that the model sees and the instruction does not name. `add`: it
            is named, as in the paper's example; `ignore`: the instruction stays as it is.
        promote_receiver: where the instruction names a receiver and the model gives none, the only other object of
            that name is taken.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    vision: str | None = None
    vision_options: dict[str, Any] = Field(default_factory=dict)
    camera: str | None = None
    height: int = Field(default=224, ge=32, le=2048)
    width: int = Field(default=224, ge=32, le=2048)
    attempts: int = Field(default=3, ge=1, le=5)
    shared: Literal["any", "name_only"] = "any"
    priority: tuple[Attribute, ...] = Field(default=ALL, min_length=1)
    max_attributes: int = Field(default=2, ge=1, le=4)
    order: tuple[Attribute, ...] = ("position", "size", "state", "color")
    prefix_when_unambiguous: bool = False
    generic_nouns: tuple[str, ...] = ("object", "thing", "geometry", "item", "block")
    action: Literal["grammar", "model"] = "grammar"
    receiver_unsaid: Literal["add", "ignore"] = "add"
    promote_receiver: bool = True

    @field_validator("priority")
    @classmethod
    def _each_once(cls, value: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
        if len(set(value)) != len(value):
            raise ValueError("an attribute stands twice; name each once")
        return value

    @field_validator("order")
    @classmethod
    def _all_of_them(cls, value: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
        if sorted(value) != sorted(ALL):
            raise ValueError(f"name each of {', '.join(ALL)} once")
        return value
