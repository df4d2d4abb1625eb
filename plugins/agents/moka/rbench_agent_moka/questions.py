"""Asking a question again until its answer can be used, for so many attempts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rbench.errors import NoAnswer
from rbench.interfaces.vision import Question
from rbench.vision.asking import Interview
from rbench_agent_moka.failures import GaveUp

#: Kinds of failed replies that asking the same again would not mend.
FINAL = ("truncated", "refused")

T = TypeVar("T")


class Unusable(ValueError):
    """An answer is one in form but cannot be used: a mark that is not in the picture, a plan of nothing."""


def usable(interview: Interview, question: Question, stage: str, attempts: int, use: Callable[..., T]) -> T:
    """What `use` makes of the first answer it can use. The published program asks for ever.

    Args:
        stage: begins the reason to stop: `plan_parse`, `plan_truncated`, `plan_refused`.
        use: is given the answer and raises `Unusable`.

    Raises:
        GaveUp: after the last attempt, or when asking again cannot help.
    """
    for _ in range(attempts):
        try:
            return use(interview.ask(question))
        except NoAnswer as problem:
            if problem.kind in FINAL:
                raise GaveUp(f"{stage}_{problem.kind}") from problem
        except Unusable:
            pass
    raise GaveUp(f"{stage}_parse")
