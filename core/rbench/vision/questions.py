"""Answer models that questions share, and what every backend needs to send a question.

An answer model says what an answer must hold. Boxes are `Box`: whatever numbers a model gives, an agent sees
pixels of the first image of its question (`rbench.vision.coordinates`), because the parser hands the `Frame` of the
reply to pydantic as validation context.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rbench.interfaces.vision import Question
from rbench.vision.coordinates import Box4, Frame, box_fault

#: Type of the pydantic error of a box that is not usable, by which the parser tells it from other mistakes.
BAD_BOX = "bad_box"


class Box(RootModel[Box4]):
    """A box (x1, y1, x2, y2), upper left and lower right corner.

    Validated with a `Frame` as context under the key `frame`, it converts from the model's numbers to pixels of the
    image that was asked about, and refuses boxes that cannot be. Without one the numbers are pixels already. Two
    corners `[[x1, y1], [x2, y2]]` are accepted too.
    """

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(c, (list, tuple)) for c in value):
            return [*value[0], *value[1]]
        return value

    @field_validator("root")
    @classmethod
    def _in_pixels(cls, value: Box4, info: ValidationInfo) -> Box4:
        frame: Frame | None = (info.context or {}).get("frame")
        if frame is None:
            return value
        pixels = frame.to_pixels(value)
        fault = box_fault(pixels, *frame.asked)
        if fault:
            raise PydanticCustomError(BAD_BOX, "box {box}: {fault}", {"box": list(value), "fault": fault})
        return pixels

    @property
    def center(self) -> tuple[float, float]:
        """The middle (x, y)."""
        x1, y1, x2, y2 = self.root
        return ((x1 + x2) / 2, (y1 + y2) / 2)


class Located(BaseModel):
    """One thing and where it is; `score` 0..1 when the model gives one."""

    model_config = ConfigDict(frozen=True)

    label: str
    box: Box
    score: float | None = Field(default=None, ge=0.0, le=1.0)


class PickAndPlace(BaseModel):
    """What an instruction moves (`start`) and where to (`end`), with a box for each; None: not found.

    The keys are those of SimpleAgent's grounding question.
    """

    start: str
    start_xyxy: Box | None
    end: str
    end_xyxy: Box | None

    @property
    def object(self) -> Located | None:
        """The thing to move."""
        return None if self.start_xyxy is None else Located(label=self.start, box=self.start_xyxy)

    @property
    def destination(self) -> Located | None:
        """The place to move it to."""
        return None if self.end_xyxy is None else Located(label=self.end, box=self.end_xyxy)


def prompt_text(question: Question, frame: Frame) -> str:
    """The prompt with the sentence on coordinates filled in."""
    return question.prompt.replace("{coordinates}", frame.sentence())
