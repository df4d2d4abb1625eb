"""The vision model `replay`: answers that a run recorded before, without any network.

The recording is the transcripts of a run. What is not in it is an error that ends the run: a question that changed is
never answered with what its older version was answered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rbench.errors import NoAnswer, StartError, UsageError
from rbench.interfaces.vision import Call, Question, Reply, Usage, VisionModel
from rbench.values import from_plain
from rbench.vision.coordinates import Frame
from rbench.vision.question_keys import image_hash, question_key
from rbench.vision.transcripts import read_transcripts

Entry = Mapping[str, Any]


class Options(BaseModel):
    """Options of the `replay` vision model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recording: Path = Field(
        description="Directory of a run that kept transcripts, a folder of transcripts, or the file of one."
    )
    match: Literal["image", "call"] = Field(
        default="image",
        description="image: the answer to the same question about the same pixels. call: to the same question (of any"
        " pixels) at the same place in the same episode.",
    )
    backend: str | None = Field(
        default=None, description="Only answers of this model, as transcripts call it; needed when several were asked."
    )
    transcripts: bool = Field(default=True, description="Keep transcripts of this run too.")


class Replay(VisionModel):
    """Recorded answers. Called as `Replay(options)`; the recording is read when the model is made.

    Replies are as recorded: value, repairs, usage, and replies that were no answer. So the records of a replayed run
    are those of the recorded one.
    """

    def __init__(self, options: Options) -> None:
        """Read the recording.

        Raises:
            UsageError: there is none, it is damaged, or several models answered.
        """
        self.options = options
        self._by_call: dict[tuple[str, int], Entry] = {}
        self._by_key: defaultdict[str, list[tuple[str, Entry]]] = defaultdict(list)
        backends: set[str] = set()
        there: set[str] = set()
        for transcript in read_transcripts(options.recording):
            for index, entry in enumerate(transcript["questions"]):
                backend = str(entry.get("backend"))
                there.add(backend)
                if entry.get("outcome") == "error" or options.backend not in (None, backend):
                    continue
                backends.add(backend)
                self._by_call[transcript["episode"], index] = entry
                self._by_key[str(entry.get("key"))].append((transcript["episode"], entry))
        if len(backends) > 1:
            raise UsageError(
                f"{options.recording}: several models were asked: {', '.join(sorted(backends))}. Choose the one to"
                " replay with -v backend=NAME"
            )
        if not backends:
            others = f" of {options.backend!r}, but of {', '.join(sorted(there))}" if there else ""
            raise UsageError(
                f"{options.recording} holds no recorded answer{others}; give a run that asked"
                f" {options.backend or 'a vision model'}"
            )

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        hashes = tuple(map(image_hash, question.images))
        key = question_key(question, hashes)
        entry = self._of_call(question) if self.options.match == "call" else self._of_key(question, key)
        try:
            usage = from_plain(Usage, entry.get("usage") or {})
            repairs = tuple(map(str, entry.get("repairs") or ()))
            if entry["outcome"] != "answered":
                raise NoAnswer(
                    str(entry.get("error")),
                    kind=str(entry["outcome"]),
                    raw=entry.get("raw"),
                    repairs=repairs,
                    usage=usage,
                )
            if min(usage.tokens_in or 0, usage.tokens_out or 0, usage.cost or 0) < 0:
                raise ValueError(f"it cost less than nothing: {usage}")
            # Boxes in a transcript are pixels already; a file that was edited may hold any.
            frame = Frame("abs", question.images[0].shape[:2]) if question.images else None
            value = question.answer.model_validate(entry["value"], context={"frame": frame})
            return Reply(value, repairs, usage, entry.get("raw"))
        except (KeyError, ValueError, ValidationError) as problem:
            self._miss(question, f"what it holds is no {question.answer.__name__} ({str(problem).splitlines()[0]})")

    def _of_key(self, question: Question, key: str) -> Entry:
        recorded = self._by_key.get(key)
        if not recorded:
            known = question.name in self._names
            what = "not with this prompt, these pixels and this form of answer" if known else "not at all"
            self._miss(question, f"it is {what} among the recorded ones ({', '.join(sorted(self._names))})")
        call = question.call or Call("", 0, 0)
        # Equal pixels may have been asked about in several episodes: this one's own answers come first.
        own = [entry for episode, entry in recorded if episode == call.episode]
        answers = own or [entry for episode, entry in recorded if episode == recorded[0][0]]
        return answers[min(call.again, len(answers) - 1)]

    def _of_call(self, question: Question) -> Entry:
        call = question.call
        if call is None:
            self._miss(question, "answers matched by call are for runs, and this question is of none")
        entry = self._by_call.get((call.episode, call.index))
        if entry is None:
            self._miss(question, f"nothing was answered as question {call.index + 1} of episode {call.episode!r}")
        # With the recorded pixels in place of its own it must be the recorded question.
        images = entry.get("images")
        hashes = tuple(map(str, images)) if isinstance(images, list) else ()
        if len(hashes) != len(question.images) or question_key(question, hashes) != entry.get("key"):
            self._miss(
                question,
                f"question {call.index + 1} of episode {call.episode!r} was {entry.get('question')!r}, or had another"
                " prompt, number of pictures or form of answer",
            )
        return entry

    @cached_property
    def _names(self) -> set[str]:
        return {str(entry.get("question")) for entry in self._by_call.values()}

    def _miss(self, question: Question, why: str) -> NoReturn:
        raise StartError(
            f"{self.options.recording} has no answer to {question.name!r}: {why}. Record again with the model itself,"
            " or go back to what was recorded"
        )
