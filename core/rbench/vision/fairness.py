"""The question of the pre-screen: can object and box be told and found in a picture (RoboView-Bias, appendix A.2)?"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from rbench.interfaces.vision import Question


def _word(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.strip().strip(".").lower() if isinstance(value, str) else value


class FairPicture(BaseModel):
    """What a model makes of a picture. The keys are those of the paper's prompt, its figure 9."""

    model_config = ConfigDict(frozen=True)

    analysis: Annotated[str, Field(max_length=4000)]
    final_answer: Annotated[Literal["yes", "no"], BeforeValidator(_word)]


def fairness_question(image: npt.NDArray[np.uint8], thing: str, box: str) -> Question:
    """Whether a picture is clear.

    The paper's three conditions and form of the answer; all must hold.

    Args:
        thing, box: what the object and the box are called: `small solid geometry object`, `yellow box`.
    """
    prompt = (
        "Judge whether a picture of a robot's table is clear enough for a fair test. Three conditions:\n"
        f"1. There is a {thing} in the picture.\n"
        f"2. There is a {box} in the picture.\n"
        f"3. A person could clearly identify both the {thing} and the {box}.\n"
        'Answer with one JSON object and nothing else, with the keys "analysis", a short explanation, and'
        ' "final_answer", which is "yes" when all three conditions hold and "no" otherwise. Examples:\n'
        f'{{"analysis": "A green {thing} lies beside the {box}; both are easy to make out.", "final_answer": "yes"}}\n'
        f'{{"analysis": "The {box} is there, but no {thing} is to be seen.", "final_answer": "no"}}'
    )
    return Question("validation.fair/1", prompt, (image,), FairPicture)
