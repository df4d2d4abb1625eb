"""What is known of models by name: in which numbers they give coordinates, and how they cut up pictures.

Sources: the model cards of Qwen-VL, Qwen2-VL, Qwen2.5-VL and Qwen3-VL, of GLM-V and Gemma 3; for Yi-Vision the
program of BadRobot (arXiv:2407.20242). Models that are not here were trained on no convention of their own that is
published; they are asked for pixels of the picture as it is sent, whose size the prompt states.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rbench.vision.coordinates import CoordinateSpace


@dataclass(frozen=True)
class Eyes:
    """How a model sees.

    Attributes:
        multiple: sides of pictures are rounded to multiples of this many pixels before they are sent, so that the
            model does not resize them again by itself.
    """

    space: CoordinateSpace
    multiple: int = 1


_ABSOLUTE = Eyes("abs")

#: The first pattern that is found in the lower-case name counts.
_KNOWN: tuple[tuple[str, Eyes], ...] = (
    # Pixels of the picture as the model resized it, to multiples of 28: the same as those of the one that is sent.
    (r"qwen2[._]?5-?vl", Eyes("abs_resized", 28)),
    (r"qwen3-?vl|qwen2-?vl|qwen-?vl", Eyes("norm1000", 28)),
    (r"glm-?\d[\w.]*v|cogvlm|gemma", Eyes("norm1000")),
    (r"yi-vision", Eyes("norm999")),
)


def eyes_of(model: str) -> Eyes:
    """What is known of a model of that name."""
    name = model.lower()
    return next((eyes for pattern, eyes in _KNOWN if re.search(pattern, name)), _ABSOLUTE)
