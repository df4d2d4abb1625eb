"""Checks: what they are, how they are run, and what they say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rbench.errors import RbenchError, UsageError, did_you_mean, one_line
from rbench.plugins.staying import without_exit

Status = Literal["ok", "failed", "skipped", "exempt", "warning"]


class CheckFailed(AssertionError):
    """What must hold does not.

    Attributes:
        problem: what was found. remedy: how to mend it.
        only_warn: it is worth saying, and no reason to fail.
    """

    def __init__(self, problem: str, remedy: str, *, only_warn: bool = False) -> None:
        super().__init__(f"{problem}\nRemedy: {remedy}")
        self.problem = problem
        self.remedy = remedy
        self.only_warn = only_warn


class CheckSkipped(Exception):
    """The check says nothing here; the message is why."""


@dataclass(frozen=True)
class Check:
    """One thing that must hold.

    Attributes:
        name: stable; exemptions and reports use it.
        statement: one line, what must hold.
        run: given a subject, raises `CheckFailed` or `CheckSkipped`; what it returns is a note on what was seen.
    """

    name: str
    statement: str
    run: Callable[[Any], str | None]

    def __str__(self) -> str:
        return self.name


def check(name: str) -> Callable[[Callable[[Any], str | None]], Check]:
    """Make a function a check; the first line of its docstring is the statement."""

    def decorate(function: Callable[[Any], str | None]) -> Check:
        return Check(name, (function.__doc__ or "").strip().partition("\n")[0], function)

    return decorate


@dataclass(frozen=True)
class Result:
    """How a check ended.

    Attributes:
        detail: what was found, why it was skipped, or a note.
        remedy: how to mend it; empty unless it failed.
        reason: the written reason of an exemption, or empty.
    """

    name: str
    statement: str
    status: Status
    detail: str = ""
    remedy: str = ""
    reason: str = ""
    seconds: float = 0.0


def checked_exemptions(exemptions: Mapping[str, str], checks: Iterable[Check]) -> dict[str, str]:
    """The exemptions, once every one names a check and gives a reason.

    Raises:
        UsageError: an unknown name (with near names), or no reason.
    """
    names = [item.name for item in checks]
    for name, reason in exemptions.items():
        require_check(name, names, "exemption")
        if not isinstance(reason, str) or not reason.strip():
            raise UsageError(f"exemption {name!r} has no reason; write down why this plugin need not pass it")
    return dict(exemptions)


def require_check(name: str, names: Iterable[str], what: str) -> None:
    """Refuse a name that no check has.

    Raises:
        UsageError: with near names.
    """
    if name not in (known := list(names)):
        raise UsageError(
            f"{what} {name!r} is no check.{did_you_mean(name, known)}"
            " `rbench check-plugin KIND:NAME --list` lists them."
        )


def run_checks(subject: Any, checks: Iterable[Check], exemptions: Mapping[str, str] | None = None) -> Iterator[Result]:
    """Run checks one by one, lazily; one that fails stops none of the others.

    Raises:
        UsageError: an exemption that names no check or gives no reason.
    """
    checks = list(checks)
    reasons = checked_exemptions(exemptions or {}, checks)
    return (run_check(item, subject, reasons.get(item.name)) for item in checks)


def run_check(item: Check, subject: Any, reason: str | None = None) -> Result:
    """Run one check; `reason` exempts it: it is run all the same, and may fail."""
    started = time.perf_counter()
    status, detail, remedy = _outcome(item, subject)
    if reason is not None:
        if status == "ok":
            detail = "it passes now: remove the exemption"
        status, remedy = ("skipped" if status == "skipped" else "exempt"), ""
    return Result(item.name, item.statement, status, detail, remedy, reason or "", time.perf_counter() - started)


def _outcome(item: Check, subject: Any) -> tuple[Status, str, str]:
    try:
        with without_exit():
            return "ok", item.run(subject) or "", ""
    except CheckSkipped as why:
        return "skipped", str(why), ""
    except CheckFailed as problem:
        return ("warning" if problem.only_warn else "failed"), problem.problem, problem.remedy
    except RbenchError as problem:
        return "failed", str(problem), "do what the message says; --debug shows where it came from"
    except SystemExit as problem:
        return (
            "failed",
            f"it asked to end the process (status {problem.code})",
            "raise an error that says what is wrong",
        )
    except Exception as problem:  # an agent may raise anything at any time
        return "failed", f"it raised {one_line(problem)}", "see the traceback: run it alone with --debug"
