"""Answer models of questions that plan a manipulation over an image with marks: which parts, and how to move.

The keys are those of MOKA (its high-level plan and its motion question), so that recorded answers of models that were
asked elsewhere can be read.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, model_validator


def _text(value: Any) -> Any:
    """Models write null, None or nothing for what there is not."""
    if value is None:
        return ""
    return "" if isinstance(value, str) and value.strip().lower() in ("none", "null", "n/a") else value


def _mark(value: Any) -> Any:
    value = _text(value)
    return value.strip().upper() if isinstance(value, str) else value


def _lower(value: Any) -> Any:
    value = _text(value)
    return value.strip().lower() if isinstance(value, str) else value


def _height(value: Any) -> Any:
    return _lower(value) or "above"


Text = Annotated[str, BeforeValidator(_text), Field(max_length=500)]
Mark = Annotated[str, BeforeValidator(_mark), Field(pattern=r"^([PQ][1-9]\d?)?$")]
Tile = Annotated[str, BeforeValidator(_lower), Field(pattern=r"^([a-z][1-9]\d?)?$")]
Height = Annotated[str, BeforeValidator(_height), Field(pattern="^(same|above)$")]
Word = Annotated[str, BeforeValidator(_lower), Field(max_length=40)]


class PlannedStep(BaseModel):
    """One subtask: what is held in the hand while it is done (''), and what is touched or placed upon ('')."""

    model_config = ConfigDict(frozen=True)

    instruction: Text
    object_grasped: Text
    object_unattached: Text
    motion_direction: Text = ""

    @model_validator(mode="after")
    def _about_something(self) -> PlannedStep:
        if not self.object_grasped.strip() and not self.object_unattached.strip():
            raise ValueError("a subtask names an object that is grasped, or one that is not, or both")
        return self


class ManipulationPlan(RootModel[list[PlannedStep]]):
    """Subtasks in the order in which they are done; a plan without any is none."""

    root: Annotated[list[PlannedStep], Field(min_length=1, max_length=50)]

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, value: Any) -> Any:
        """A plan of one step is often given as that step, and a list as the only entry of an object."""
        if isinstance(value, dict):
            lists = [entry for entry in value.values() if isinstance(entry, list)]
            return lists[0] if len(value) == 1 and lists else [value]
        return value


class MarkedMotion(BaseModel):
    """How to move, in marks (`P1`.. of what is grasped, `Q1`.. of what is not) and tiles (`a1` lower left) of an image.

    '' stands for what the motion does without. Heights are relative to that of the contact. The tile of the target
    is a reasoning aid, like the angle, which the published policy reads and then ignores.
    """

    model_config = ConfigDict(frozen=True)

    grasp_keypoint: Mark
    function_keypoint: Mark
    target_keypoint: Mark
    target_tile: Word = ""
    pre_contact_tile: Tile
    post_contact_tile: Tile = ""
    pre_contact_height: Height = "above"
    post_contact_height: Height = "above"
    target_angle: Word = "forward"
