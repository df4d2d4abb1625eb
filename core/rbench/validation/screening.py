"""The pre-screen: a vision model is asked about every picture; what it answered is kept, and asked for once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from rbench.errors import InfrastructureError, NoAnswer, StoppedEarly, UsageError
from rbench.interfaces.vision import Usage, VisionModel
from rbench.results.provenance import redacted
from rbench.running.agents import Resolved
from rbench.seeding import hash64
from rbench.suites.fairness import FairnessRules
from rbench.validation.directory import ValidationDirectory
from rbench.validation.findings import Finding
from rbench.values import content_hash
from rbench.vision.fairness import fairness_question
from rbench.vision.question_keys import question_key
from rbench.vision.redaction import Redactor
from rbench.vision.spending import Spending, SpendingLimits

#: Characters of a reply that was no answer, which are kept.
RAW_LIMIT = 4000
#: Options that change no answer.
_MONEY = ("budget_usd", "budget_calls", "budget_tokens")


@dataclass(frozen=True)
class ScreenAnswer:
    """What a model said of one picture; a line of `answers.jsonl`.

    Attributes:
        key: of the question and of who was asked with which options; another model's answers never stand in.
        answer: `yes` or `no`; None when the reply was none, whose kind `outcome` is then.
        usage: tokens and cost, as `rbench.interfaces.vision.Usage`.
    """

    key: str
    image_hash: str
    vision: str
    outcome: str
    answer: str | None
    analysis: str = ""
    repairs: tuple[str, ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None


class Screening:
    """Asks one vision model about pictures."""

    def __init__(self, directory: ValidationDirectory, resolved: Resolved, rules: FairnessRules) -> None:
        self._directory = directory
        self._resolved = resolved
        self._rules = rules
        options = {} if resolved.options is None else resolved.options.model_dump(mode="json")
        asked = {key: value for key, value in redacted(options).items() if key not in _MONEY}
        self._who = content_hash([resolved.entry.qualified, resolved.entry.version, asked])
        self._lock = threading.Lock()
        self._own = threading.local()
        self._models: list[VisionModel] = []
        self._spending = Spending()

    def ask(
        self,
        findings: Sequence[Finding],
        at_once: int = 1,
        on_answer: Callable[[int, int], Any] = lambda done, planned: None,
    ) -> dict[str, ScreenAnswer]:
        """The answer about every picture, by its hash; those that are there already are not asked for again.

        Args:
            at_once: questions that are under way at the same time, each with a connection of its own.
            on_answer: called with how many pictures have an answer, of how many.

        Raises:
            StoppedEarly: the budget is spent, or the model cannot be reached; the same call goes on.
            StartError, UsageError: the model cannot be asked, or answers no such question.
        """
        pictures = {finding.image_hash: self._directory.image(finding) for finding in findings}
        known = self._known(pictures)
        missing = [name for name in pictures if name not in known]
        try:
            if missing:
                self._model().check()
            with ThreadPoolExecutor(max(1, at_once)) as pool:
                futures = [pool.submit(self._ask, name, pictures[name]) for name in missing]
                try:
                    for future in as_completed(futures):
                        answer = future.result()
                        known[answer.image_hash] = answer
                        on_answer(len(known), len(pictures))
                except BaseException:
                    pool.shutdown(wait=True, cancel_futures=True)
                    raise
        finally:
            while self._models:
                self._models.pop().close()
        return known

    def _known(self, pictures: Iterable[str]) -> dict[str, ScreenAnswer]:
        """The answers that are on disk; one that was no answer is asked for again."""
        keys = {self._key(name): name for name in pictures}
        known = {}
        for line in self._directory.answers():
            name = keys.get(str(line.get("key")))
            if name is not None and line.get("answer") in ("yes", "no"):
                known[name] = ScreenAnswer(
                    key=line["key"],
                    image_hash=name,
                    vision=str(line.get("vision")),
                    outcome="answered",
                    answer=line["answer"],
                    analysis=str(line.get("analysis") or ""),
                    usage=line["usage"] if isinstance(line.get("usage"), dict) else {},
                )
        return known

    def _key(self, image: str) -> str:
        blank = np.zeros((1, 1, 3), dtype=np.uint8)
        return content_hash([self._who, question_key(self._question(blank), (image,))])

    def _question(self, image: npt.NDArray[np.uint8]) -> Any:
        return fairness_question(image, self._rules.object_words, self._rules.box_words)

    def _model(self) -> VisionModel:
        """The model of this thread."""
        model: VisionModel | None = getattr(self._own, "model", None)
        if model is None:
            model = self._own.model = self._resolved.entry.load()(self._resolved.options)
            with self._lock:
                self._models.append(model)
        return model

    def _ask(self, name: str, path: Path) -> ScreenAnswer:
        limits = [self._resolved.options] if isinstance(self._resolved.options, SpendingLimits) else []
        with self._lock:
            spent = self._spending.reached(limits)
        if spent:
            raise StoppedEarly(f"{spent.partition(';')[0]}; what was answered is kept, and the same command goes on")
        model, question = self._model(), self._question(_read(path))
        clear = Redactor(model.secrets).clear
        rng = np.random.Generator(np.random.PCG64(hash64("validation", name)))
        usage: Usage | None
        try:
            reply = model.ask(question, rng)
            usage = reply.usage
            answer = ScreenAnswer(
                key=self._key(name),
                image_hash=name,
                vision=self._resolved.entry.qualified,
                outcome="answered",
                answer=reply.value.final_answer,
                analysis=clear(reply.value.analysis),
                repairs=reply.repairs,
                usage=asdict(reply.usage),
            )
        except NoAnswer as problem:
            usage = problem.usage
            answer = ScreenAnswer(
                key=self._key(name),
                image_hash=name,
                vision=self._resolved.entry.qualified,
                outcome=problem.kind,
                answer=None,
                repairs=problem.repairs,
                usage=asdict(usage) if usage is not None else {},
                raw=None if problem.raw is None else clear(problem.raw[:RAW_LIMIT]),
            )
        except InfrastructureError as problem:
            raise StoppedEarly(
                f"{clear(str(problem))}. What was answered is kept; give the same command again to go on"
            ) from None
        with self._lock:
            if usage is not None:
                self._spending.add(1, (usage.tokens_in or 0) + (usage.tokens_out or 0), usage.cost or 0.0)
            self._directory.append_answer(asdict(answer))
        return answer


def _read(path: Path) -> npt.NDArray[np.uint8]:
    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError) as problem:
        raise UsageError(f"{path} cannot be read ({problem}); validate the suite again in a new -o") from None
