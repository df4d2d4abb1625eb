"""Options of the agent `simple`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Options(BaseModel):
    """Options of the agent `simple`.

    Attributes:
        camera: the camera it looks through.
        height, width: of its picture in pixels. Multiples of 28 reach models that see in patches unchanged.
        attempts: how often it asks in all when an answer cannot be used.
        planner: `none`: the instruction goes straight to the one question. `llm`: a first question writes the function
            calls that the instruction needs, and only those on a short list are carried out.
        lift: how pixels become points. `depth`: through the depth image and the camera's pose, to the middle of what
            stands on the table there; `surface`: the same way to the point on the near face at the middle of the box,
            as published; `two_point`: without depth, by one line an axis through two points that were measured on the
            baseline camera, at fixed heights, as the prototype did.
        vision: name of the vision model it asks, instead of that of the run; vision_options: options of that one.
        speed: of the fingertips on free ways, m/s; half of it near things.
        travel_height: above the table on the way between object and box, m.
        grasp_depth: below the top of what is grasped, m.
        clearance: air between the underside of the held object and the rim of the box when it lets go, m.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    camera: str = "front"
    height: int = Field(default=224, ge=32, le=2048)
    width: int = Field(default=224, ge=32, le=2048)
    attempts: int = Field(default=4, ge=1, le=4)
    planner: Literal["none", "llm"] = "none"
    lift: Literal["depth", "surface", "two_point"] = "depth"
    vision: str | None = None
    vision_options: dict[str, Any] = Field(default_factory=dict)
    speed: float = Field(default=0.4, gt=0.0, le=1.0)
    travel_height: float = Field(default=0.2, gt=0.0, le=0.5)
    grasp_depth: float = Field(default=0.03, gt=0.0, le=0.1)
    clearance: float = Field(default=0.01, ge=0.0, le=0.2)
