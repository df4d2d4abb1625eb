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
class Call:
    """Which of all questions of a run a question is. The runner fills it in.

    Attributes:
        episode: id of the asking episode.
        index: how many questions were asked before it in the episode.
        again: how many of these were equal to it (`rbench.vision.question_keys`).
    """

    episode: str
    index: int
    again: int


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        name: stable identifier, with its version (`simple.locate/1`), for transcripts and replays.
        prompt: the text. `{coordinates}` in it stands for a sentence on image size and coordinates, which the
            backend writes because only it knows the convention of its model.
        images: RGB uint8 arrays (height, width, 3), upright. Boxes of an answer are pixels of the first.
        answer: the pydantic model an answer must satisfy.
        call: which question of the run it is, for replays; not part of what is asked, and None outside a run.
    """

    name: str
    prompt: str
    images: tuple[npt.NDArray[np.uint8], ...] = field(hash=False)
    answer: type[pydantic.BaseModel]
    call: Call | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Usage:
    """What one question cost: the model as the server names it, tokens, and money in US dollars; None: not known.

    Attributes:
        adapted: what the request did without, or in another form, because this server refuses it.
    """

    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    adapted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """An answer, and how it was come by.

    Attributes:
        value: an instance of the question's answer model.
        repairs: names of what had to be mended in the model's text, each as often as it was mended.
        raw: the text as it came, or None when the model speaks no text.
    """

    value: Any
    repairs: tuple[str, ...] = ()
    usage: Usage = Usage()
    raw: str | None = None


class VisionModel(ABC):
    """Base class of vision models. Called as `VisionModel(options)`.

    A model keeps nothing between questions except connections, so that no state can pass from one episode to the
    next: what is random draws from the generator that comes with the question. A wrapper that changes what is asked
    or answered (`Wrapper.wrap_context`) is a vision model around a vision model.
    """

    @abstractmethod
    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        """Answer a question.

        Args:
            rng: the seeded generator of the asking episode.

        Raises:
            NoAnswer: the model replied, but not with an answer.
            InfrastructureError: the model could not be reached after its retries.
            UsageError: the model cannot answer questions of this kind at all.
            StartError, StoppedEarly: no question of this run can be answered, ever or for now; the run stops.
        """

    def check(self) -> None:  # noqa: B027 - optional to override
        """Find out, once before the first episode of a run, whether the model can be asked.

        Raises:
            StartError: it cannot, and why.
        """

    @property
    def secrets(self) -> frozenset[str]:
        """Texts that must not reach a record, such as a key, in every form in which they could come back."""
        return frozenset()

    def close(self) -> None:  # noqa: B027 - optional to override
        """Release connections."""
