"""The answer to "what is in this scene": every object with a few attributes, in words.

The attributes are those of RoboView-Bias's scene parsing (appendix A.5): what a thing is called, what kinds of thing it
is, colour, size beside the others, place in the picture, and whether it is hollow.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator

#: What an object is to the task.
Role = Literal["manipulation object", "receiver object", "other object"]
#: Longest word or phrase that is taken for a name or an attribute, and most objects of a scene.
LONGEST, MOST = 60, 50


class SceneObject(BaseModel):
    """One object as a vision model describes it; every key must be there, values are words.

    Attributes:
        id: its number, the key `ID`. object_type: what it is to the task.
        name: a short noun. category: kinds of thing that it is; things of one kind share the word.
        color: its name, or several for one between them. size: `small`, `normal` or `big` beside the others.
        position: `left`, `right`, `top`, `bottom` of the picture, else `normal`. state: `solid` or `hollow`.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    id: int = Field(alias="ID")
    object_type: Role
    name: str = Field(min_length=1, max_length=LONGEST)
    category: tuple[str, ...]
    color: str = Field(max_length=LONGEST)
    size: str = Field(max_length=LONGEST)
    position: str = Field(max_length=LONGEST)
    state: str = Field(max_length=LONGEST)

    @field_validator("object_type", mode="before")
    @classmethod
    def _role(cls, value: Any) -> Any:
        return " ".join(value.replace("_", " ").split()).lower() if isinstance(value, str) else value

    @field_validator("category", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("category")
    @classmethod
    def _kinds(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_one_line(word)[:LONGEST] for word in value[:MOST] if word.strip()))

    @field_validator("name", "color", "size", "position", "state", mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        return _one_line(value) if isinstance(value, str) else value


class SceneObjects(RootModel[tuple[SceneObject, ...]]):
    """A scene as a list of objects. Whether there are too many or too few of a role is for who asked to judge."""

    model_config = ConfigDict(frozen=True)

    @field_validator("root")
    @classmethod
    def _some(cls, value: tuple[SceneObject, ...]) -> tuple[SceneObject, ...]:
        if len(value) > MOST:
            raise ValueError(f"{len(value)} objects are more than {MOST}")
        return value


def _one_line(text: str) -> str:
    """Text without line breaks and control characters: it may end in an instruction."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
