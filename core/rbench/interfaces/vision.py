"""The vision port: typed questions about images.

Agents, wrappers and validation never build requests themselves. They ask a `Question`; the vision model
chosen for the run answers it with an instance of the question's answer model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pydantic


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        name: stable identifier, with its version (`simple.locate/1`), for transcripts and replays.
        prompt: the text.
        images: RGB uint8 arrays (height, width, 3).
        answer: the pydantic model an answer must satisfy.
    """

    name: str
    prompt: str
    images: tuple[npt.NDArray[np.uint8], ...] = field(hash=False)
    answer: type[pydantic.BaseModel]


class VisionModel(ABC):
    """Base class of vision models. Called as `VisionModel(options)`."""

    @abstractmethod
    def ask(self, question: Question) -> Any:
        """An instance of `question.answer`.

        Raises:
            InfrastructureError: the model could not be reached after its retries.
        """

    def close(self) -> None:  # noqa: B027 - optional to override
        """Release connections."""
