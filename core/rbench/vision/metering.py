"""What a run asks its vision models, counted by the runner around them and not told by the agent.

One `VisionMeter` belongs to a worker. Every model that the host hands out goes through it, inside whatever a wrapper
puts around the model: what is counted is what is really asked.
"""

from __future__ import annotations

import base64
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from rbench.errors import InfrastructureError, NoAnswer, RbenchError, StartError, StoppedEarly, UsageError
from rbench.interfaces.vision import Call, Question, Reply, Usage, VisionModel
from rbench.vision.images import encoded
from rbench.vision.question_keys import image_hash, question_key
from rbench.vision.spending import Spending, SpendingLimits
from rbench.vision.transcripts import RAW_LIMIT, Transcript

#: Pictures of one episode that are kept, in characters of base64; of those beyond it there is only the hash.
IMAGES_LIMIT = 128 << 20


class VisionMeter:
    """The questions of one worker, episode by episode.

    Attributes:
        seconds: wall time that the episode has waited for answers.
    """

    def __init__(
        self,
        limits: Iterable[SpendingLimits] = (),
        while_asking: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Nothing was asked yet.

        Args:
            limits: what may be spent.
            while_asking: entered around every question: what takes long or falls there is not the agent's.
        """
        self.seconds = 0.0
        self._while_asking = while_asking
        self._limits = tuple(limits)
        self._spending = Spending()
        self._models: list[VisionModel] = []
        self.begin("")

    def around(self, model: VisionModel, name: str, transcribed: bool = True) -> VisionModel:
        """A model that is counted, and closed with the meter.

        Args:
            name: for transcripts.
            transcribed: what is asked is kept whole, not only counted.
        """
        self._models.append(model)
        return _Metered(model, self, name, transcribed)

    @property
    def in_use(self) -> bool:
        """Whether there is any model to ask."""
        return bool(self._models)

    @property
    def secrets(self) -> frozenset[str]:
        """What the models must not have in a record."""
        return frozenset[str]().union(*(model.secrets for model in self._models))

    def begin(self, episode: str) -> None:
        """An episode begins, maybe not for the first time."""
        self.seconds = 0.0
        self._problem: RbenchError | None = None
        self._episode = episode
        self._keys: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._repairs: Counter[str] = Counter()
        self._usages: list[Usage] = []
        self._entries: list[dict[str, Any]] = []
        self._images: dict[str, str] = {}
        self._images_size = 0

    def raise_problem(self) -> None:
        """Raise the last error of the episode that is not the agent's, whatever agent code made of it.

        Raises:
            InfrastructureError: a model could not be reached.
            StartError, StoppedEarly: nothing can be asked any more. UsageError: the model never answers such questions.
        """
        if self._problem is not None:
            raise self._problem

    def usage(self) -> dict[str, Any]:
        """What the episode asked, for its record. Tokens and cost are null as soon as those of one reply are not known.

        Keys: `calls`, `outcomes` and `repairs` by name, `models` as their servers call them, `tokens_in`,
        `tokens_out`, `cost` (US dollars), `adapted` (what servers made the requests do without).
        """
        return {
            "calls": self._outcomes.total(),
            "outcomes": dict(sorted(self._outcomes.items())),
            "repairs": dict(sorted(self._repairs.items())),
            "models": sorted({usage.model for usage in self._usages if usage.model}),
            "tokens_in": _total(usage.tokens_in for usage in self._usages),
            "tokens_out": _total(usage.tokens_out for usage in self._usages),
            "cost": _total(usage.cost for usage in self._usages),
            "adapted": sorted({name for usage in self._usages for name in usage.adapted}),
        }

    def transcript(self) -> Transcript | None:
        """What the episode asked, whole; None when nothing is to be kept."""
        return Transcript(self._episode, tuple(self._entries), self._images) if self._entries else None

    def close(self) -> None:
        """Close the models."""
        while self._models:
            self._models.pop().close()

    def _ask(self, metered: _Metered, question: Question, rng: np.random.Generator) -> Reply:
        try:
            spent = self._spending.reached(self._limits)
            if spent:
                raise StoppedEarly(spent)
            hashes = tuple(map(image_hash, question.images))
            key = question_key(question, hashes)
            call = Call(self._episode, self._outcomes.total(), self._keys[key])
            self._keys[key] += 1
            entry = self._entry(metered, question, hashes, key) if metered.transcribed else {}
            return self._answer(metered, replace(question, call=call), rng, entry)
        except (InfrastructureError, StartError, StoppedEarly, UsageError) as problem:
            self._problem = problem
            raise

    def _answer(self, metered: _Metered, question: Question, rng: np.random.Generator, entry: dict[str, Any]) -> Reply:
        begin = time.perf_counter()
        outcome = "error"
        usage: Usage | None = None
        repairs: tuple[str, ...] = ()
        try:
            with self._while_asking():
                reply = metered.inner.ask(question, rng)
            if not isinstance(reply, Reply):
                raise StartError(
                    f"vision model {metered.name!r} returned a {type(reply).__name__}; it must return a Reply"
                )
            outcome, usage, repairs = "answered", reply.usage, reply.repairs
            value = reply.value.model_dump(mode="json") if isinstance(reply.value, BaseModel) else None
            entry |= {"value": value, "raw": _kept(reply.raw)}
            return reply
        except NoAnswer as problem:
            outcome, usage, repairs = problem.kind, problem.usage or Usage(), problem.repairs
            entry |= {"error": str(problem), "raw": _kept(problem.raw)}
            raise
        except RbenchError as problem:
            entry |= {"error": str(problem)}
            raise
        finally:
            seconds = time.perf_counter() - begin
            self.seconds += seconds
            self._outcomes[outcome] += 1
            self._repairs.update(repairs)
            if usage is not None:
                self._usages.append(usage)
                tokens = (usage.tokens_in or 0) + (usage.tokens_out or 0)
                self._spending.add(1, tokens, usage.cost or 0.0)
            entry |= {
                "outcome": outcome,
                "repairs": list(repairs),
                "usage": None if usage is None else asdict(usage),
                "seconds": seconds,
            }

    def _entry(self, metered: _Metered, question: Question, hashes: tuple[str, ...], key: str) -> dict[str, Any]:
        for name, image in zip(hashes, question.images, strict=True):
            if name in self._images or self._images_size > IMAGES_LIMIT:
                continue
            # Now, not when the episode ends: the picture is the agent's, who may draw on it.
            if (picture := _png(image)) is not None:
                self._images[name] = picture
                self._images_size += len(picture)
        entry: dict[str, Any] = {
            "question": question.name,
            "key": key,
            "prompt": question.prompt,
            "images": list(hashes),
            "backend": metered.name,
            "value": None,
            "raw": None,
            "error": None,
        }
        self._entries.append(entry)
        return entry


class _Metered(VisionModel):
    """A vision model whose questions are counted."""

    def __init__(self, inner: VisionModel, meter: VisionMeter, name: str, transcribed: bool) -> None:
        self.inner = inner
        self.name = name
        self.transcribed = transcribed
        self._meter = meter

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        return self._meter._ask(self, question, rng)

    @property
    def secrets(self) -> frozenset[str]:
        return self.inner.secrets


def _total(values: Iterable[Any]) -> Any:
    """The sum, or None when a value is not known or there is none."""
    known = list(values)
    return sum(known) if known and None not in known else None


def _kept(raw: str | None) -> str | None:
    return raw if raw is None else raw[:RAW_LIMIT]


def _png(image: npt.NDArray[np.uint8]) -> str | None:
    """The picture for the transcript, or None when it is none: the model will say so."""
    try:
        return base64.b64encode(encoded(image)).decode("ascii")
    except ValueError:
        return None
