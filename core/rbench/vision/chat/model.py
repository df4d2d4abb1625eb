"""The vision model `openai`: asks, waits, tries again, and says plainly why it stops."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.errors import InfrastructureError, NoAnswer, StartError, StoppedEarly
from rbench.interfaces.vision import Question, Reply, Usage, VisionModel
from rbench.vision.chat.connection import Connection
from rbench.vision.chat.dialect import Dialect
from rbench.vision.chat.failures import Failure
from rbench.vision.chat.known_models import eyes_of
from rbench.vision.chat.options import Options
from rbench.vision.chat.pacing import Pace
from rbench.vision.chat.replies import Completion
from rbench.vision.coordinates import Frame
from rbench.vision.images import data_uri, resized
from rbench.vision.parsing import parse_answer
from rbench.vision.question_keys import answer_schema
from rbench.vision.questions import prompt_text

#: Of the wait before a retry, at most this share more, so that workers do not come back all at once.
_JITTER = 0.25

_TRIAL_SIZE = 56
_TRIAL_PROMPT = 'This is a trial. Reply with the JSON object {"ok": true} and nothing else.'
_TRIAL_SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}

_log = logging.getLogger("rbench.vision")


class OpenAi(VisionModel):
    """A model behind an endpoint that speaks the OpenAI protocol. Called as `OpenAi(options)`."""

    def __init__(self, options: Options) -> None:
        """Read the key. Sends nothing.

        Raises:
            StartError: the variable of the key is not set.
        """
        self.options = options
        self._eyes = eyes_of(options.model)
        self._connection = Connection(options)
        self._pace = Pace(self._connection.address, options.requests_per_minute, options.concurrency)
        self._dialect = Dialect(options)
        # Of its own: how long a wait is must not touch what an episode draws.
        self._jitter = random.Random()

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        pictures = [self._sent(image) for image in question.images]
        asked, sent = question.images[0].shape[:2], pictures[0].shape[:2]
        frame = Frame(self.options.coordinate_space or self._eyes.space, (asked[0], asked[1]), (sent[0], sent[1]))
        completion = self._talk(
            prompt_text(question, frame),
            pictures,
            answer_schema(question.answer),
            question.name,
        )
        return parse_answer(completion.said, question.answer, frame, self._usage(completion))

    def check(self) -> None:
        if self._connection.without_key:
            _log.warning(
                "vision model 'openai': %s is not set, so %s is asked without a key",
                self.options.api_key_env,
                self._connection.address,
            )
        if not self.options.check_images:
            return
        picture = np.full((_TRIAL_SIZE, _TRIAL_SIZE, 3), 127, np.uint8)
        try:
            self._talk(_TRIAL_PROMPT, [picture] * self.options.check_images, _TRIAL_SCHEMA, "trial")
        except NoAnswer:
            pass  # it can be asked
        except InfrastructureError as problem:
            raise StartError(str(problem)) from None

    @property
    def secrets(self) -> frozenset[str]:
        return self._connection.redactor.forms

    def close(self) -> None:
        self._connection.close()

    def _sent(self, image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The picture at the size at which it is sent."""
        multiple = self.options.multiple or self._eyes.multiple
        height, width = sent_size(image.shape[0], image.shape[1], self.options.longest_side, multiple)
        return resized(image, height, width)

    def _usage(self, completion: Completion) -> Usage:
        tokens = (completion.tokens_in, completion.tokens_out)
        prices = (self.options.price_in, self.options.price_out)
        cost = None
        if None not in (*tokens, *prices):
            cost = sum(t * p for t, p in zip(tokens, prices, strict=True) if t is not None and p is not None) / 1e6
        return Usage(completion.model or self.options.model, *tokens, cost, self._dialect.adapted)

    def _talk(
        self,
        prompt: str,
        pictures: Sequence[npt.NDArray[np.uint8]],
        schema: dict[str, Any],
        name: str,
    ) -> Completion:
        """Ask until there is a reply.

        Raises:
            NoAnswer: a filter refused the question, or the limit came before a reply.
            InfrastructureError: no reply after all retries.
            StartError: the server will never answer. StoppedEarly: not before quota is there again.
        """
        content: list[dict[str, Any]] = [{"type": "text", "text": prompt}]
        for picture in pictures:
            url = {"url": data_uri(picture, self.options.image_format)}
            content.append({"type": "image_url", "image_url": url | _detail(self.options)})
        fixed = {"model": self.options.model, "messages": [{"role": "user", "content": content}]}
        tries = 0
        while True:
            body = fixed | self._dialect.fields(schema, name)
            if self.options.extra_body:
                body["extra_body"] = self.options.extra_body
            with self._pace.turn():
                result = self._connection.post(body)
            if isinstance(result, Completion):
                return result
            if self._dialect.adapt(result, body):
                _log.info("%s: %s; asked without from now on", self._connection.address, result)
                continue
            self._give_up(result, tries)
            tries += 1
            self._wait(result, tries)

    def _give_up(self, failure: Failure, tries: int) -> None:
        """Raise unless it is worth another try."""
        where, variable = self._connection.address, self.options.api_key_env
        usage = Usage(self.options.model, adapted=self._dialect.adapted)
        if failure.filtered:
            told = f"the question was refused by a filter of the server: {failure}; change the prompt or the model"
            raise NoAnswer(told, kind="refused", raw=failure.message, usage=usage)
        if failure.cut_off:
            told = f"the model's reply was cut off at the token limit: {failure}; allow more with max_tokens"
            raise NoAnswer(told, kind="truncated", raw=failure.message, usage=usage)
        if failure.no_quota:
            raise StoppedEarly(
                f"{where}: quota or money is spent: {failure}. Fill it up, then `rbench resume`; what is done is kept"
            )
        if failure.no_access:
            key = "asked without a key" if self._connection.without_key else f"the key in {variable} is not accepted"
            raise StartError(f"{where}: {key}: {failure}. Set {variable}, or name another variable with api_key_env")
        if not failure.may_pass:
            raise StartError(f"{where} refuses the request for {self.options.model!r}: {failure}. {_advice(failure)}")
        if failure.retry_after is not None and failure.retry_after > self.options.longest_wait:
            raise StoppedEarly(
                f"{where} asks to wait {failure.retry_after:.0f} s: {failure}. That is longer than longest_wait ="
                f" {self.options.longest_wait:g}; `rbench resume` then, or allow more"
            )
        if tries >= self.options.max_retries:
            raise InfrastructureError(
                f"{where}: no reply after {tries + 1} tries: {failure}; see whether the server is up, then resume"
            )

    def _wait(self, failure: Failure, tries: int) -> None:
        seconds = min(self.options.first_wait * 2 ** (tries - 1), self.options.longest_wait)
        seconds = max(seconds, failure.retry_after or 0.0)
        if failure.limited:
            self._pace.hold(seconds)  # the other workers are not to find out one by one
        time.sleep(seconds * (1 + self._jitter.uniform(0.0, _JITTER)))


def sent_size(height: int, width: int, longest: int, multiple: int) -> tuple[int, int]:
    """Height and width at which a picture is sent: its longest side at most `longest`, both multiples of `multiple`."""
    shrink = min(1.0, longest / max(height, width))
    sides = []
    for side in (height, width):
        most = max(multiple, longest // multiple * multiple)
        sides.append(min(most, max(multiple, round(side * shrink / multiple) * multiple)))
    return sides[0], sides[1]


def _detail(options: Options) -> dict[str, str]:
    return {} if options.detail is None else {"detail": options.detail}


def _advice(failure: Failure) -> str:
    said = failure.message.lower()
    if failure.status is not None and 300 <= failure.status < 400:
        return "It points somewhere else; give that address as base_url"
    if failure.status == 404:
        return "Check the options model and base_url (does it end in /v1?)"
    if "context" in said or "too long" in said or "too large" in said:
        return "Send less with longest_side, or ask for fewer tokens with max_tokens"
    if "image" in said:
        return "Choose a server that takes as many pictures in one request, or an agent that sends fewer"
    return "Change the options of the vision model; `rbench describe vision-model:openai` lists them"
