"""The embedded vision model: classical colour and shape vision, without weights, key or network.

It looks at the pixels it is given and at nothing else, so it cannot read an instruction: whatever the prompt says, it
looks for an open yellow box and for one small solid beside it. It is a real eye with real limits: what has little
contrast to the table, is cut off by the edge of the picture, or touches something of its own colour, it may miss or
misjudge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from rbench.errors import UsageError
from rbench.interfaces.vision import Question, Reply, Usage, VisionModel
from rbench.vision.fairness import FairPicture
from rbench.vision.manipulation import ManipulationPlan, MarkedMotion
from rbench.vision.questions import Box, PickAndPlace
from rbench.vision.scene_objects import SceneObjects

if TYPE_CHECKING:
    from rbench.vision.classical.tabletop import Sighting, Tabletop


class Options(BaseModel):
    """Options of the `opencv` vision model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    contrast: float = Field(
        default=7.0,
        gt=0,
        description="By how many units of the surface's own noise a thing must differ from it to be seen.",
    )
    transcripts: bool = Field(
        default=False, description="Keep questions, pictures and answers in the run directory, for a replay."
    )


class OpenCv(VisionModel):
    """Classical vision. Called as `OpenCv(options)`; answers the questions of `ANSWERS`."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        answer = ANSWERS.get(question.answer)
        if answer is None:
            known = ", ".join(model.__name__ for model in ANSWERS)
            raise UsageError(
                f"vision model 'opencv' cannot answer {question.name!r} with a {question.answer.__name__} (it can give:"
                f" {known}); choose another model with --vision"
            )
        # Here and not above: OpenCV takes a while to import, and is not needed to list what there is.
        import cv2

        from rbench.vision.classical.tabletop import look

        # One thread: workers share the machine's cores among themselves.
        cv2.setNumThreads(1)
        image = question.images[0]
        return Reply(answer(image, look(image, self.options.contrast)), usage=Usage(model="opencv"))


def _pick_and_place(image: npt.NDArray[np.uint8], seen: Tabletop) -> PickAndPlace:
    return PickAndPlace(
        start="small solid", start_xyxy=_box(seen.solid), end="open yellow box", end_xyxy=_box(seen.box)
    )


def _scene_objects(image: npt.NDArray[np.uint8], seen: Tabletop) -> SceneObjects:
    from rbench.vision.classical.attributes import scene_objects

    return scene_objects(image, seen)


def _plan(image: npt.NDArray[np.uint8], seen: Tabletop) -> ManipulationPlan:
    from rbench.vision.classical.planning import move_into_box

    return move_into_box()


def _motion(image: npt.NDArray[np.uint8], seen: Tabletop) -> MarkedMotion:
    from rbench.vision.classical.planning import from_middle_to_middle

    return from_middle_to_middle(seen)


def _fair(image: npt.NDArray[np.uint8], seen: Tabletop) -> FairPicture:
    """Whether it finds both; of what a person could identify it knows nothing."""
    parts = {"a small solid": seen.solid, "an open yellow box": seen.box}
    found = [name for name, sighting in parts.items() if sighting is not None]
    missing = [name for name in parts if name not in found]
    text = f"Found: {' and '.join(found) or 'nothing'}." + (f" Not found: {' and '.join(missing)}." if missing else "")
    return FairPicture(analysis=text, final_answer="no" if missing else "yes")


def _box(sighting: Sighting | None) -> Box | None:
    if sighting is None:
        return None
    x1, y1, x2, y2 = sighting.region.box
    return Box((float(x1), float(y1), float(x2), float(y2)))


#: What the model can answer, and how each answer is made from what it saw.
ANSWERS: dict[type[BaseModel], Callable[[npt.NDArray[np.uint8], Tabletop], BaseModel]] = {
    PickAndPlace: _pick_and_place,
    SceneObjects: _scene_objects,
    ManipulationPlan: _plan,
    MarkedMotion: _motion,
    FairPicture: _fair,
}
