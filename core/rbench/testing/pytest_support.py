"""Checks as tests: one parameter a check.

::

    import pytest
    from rbench.testing import agent_checks

    @pytest.mark.parametrize("check", agent_checks("my-agent"), ids=str)
    def test_conformance(check):
        check()
"""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from rbench.errors import PluginError, StartError
from rbench.testing.checks import Check, CheckFailed, checked_exemptions, run_check
from rbench.testing.kinds import checks_of, subject
from rbench.testing.subjects import Expectations, Subject


@dataclass(frozen=True)
class BoundCheck:
    """A check with its subject. Call it: it passes, fails, or is skipped, as pytest and unittest understand.

    Attributes:
        reason: why it may fail, when it is exempt.
    """

    check: Check
    subject: Subject
    reason: str | None = None

    def __str__(self) -> str:
        return self.check.name

    def __call__(self) -> None:
        """Run it.

        Raises:
            CheckFailed: what must hold does not; says how to mend it.
            UsageError: an unknown name or option.
        """
        __tracebackhide__ = True
        try:
            self.subject.prepare()
        except PluginError:
            raise
        except StartError as problem:  # a library that it needs is not installed here
            _skip(str(problem))
        result = run_check(self.check, self.subject, self.reason)
        if result.status == "failed":
            raise CheckFailed(f"{result.name}: {result.statement}\nFound: {result.detail}", result.remedy)
        if result.status == "skipped":
            _skip(result.detail)
        if result.status == "warning":
            warnings.warn(f"{result.name}: {result.detail}. {result.remedy}", stacklevel=2)
        if result.status == "exempt":
            if result.detail.startswith("it passes now"):
                warnings.warn(f"exemption {result.name!r} is not needed: the check passes; remove it", stacklevel=2)
            else:
                _expected_failure(f"exempt: {result.reason} ({result.detail})")


def agent_checks(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    vision: str | None = None,
    vision_options: Mapping[str, Any] | None = None,
    exemptions: Mapping[str, str] | None = None,
    competent: bool = False,
    time_limit: float = 5.0,
    slow: Literal["fail", "warn"] = "fail",
    world: Literal["auto", "fake"] = "auto",
    folder: str | Path | None = None,
) -> list[BoundCheck]:
    """The checks of an agent, to be called one by one; nothing is imported or made before the first call.

    Args:
        name: of an installed agent, or `module:attribute`.
        options: as with `-o`.
        vision, vision_options: the vision model it is given, and its options.
        exemptions: check -> the written reason why this agent need not pass it.
        competent: it claims to solve the task at the baseline; then it must, at least once.
        time_limit: seconds that a call of `act` may take, the first one aside; `slow` says what a slower one is worth.
        world: `auto`: checks that need the real world play there when pictures can be drawn; `fake`: none does.
        folder: where an unpackaged agent is imported from; default the working directory.

    Raises:
        UsageError: an exemption that names no check or gives no reason.
    """
    expectations = Expectations(competent=competent, time_limit=time_limit, slow=slow, world=world)
    return _bound("agent", name, options, vision, vision_options, exemptions, expectations, folder)


def wrapper_checks(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    changes: tuple[str, ...] = (),
    vision: str | None = None,
    vision_options: Mapping[str, Any] | None = None,
    exemptions: Mapping[str, str] | None = None,
    time_limit: float = 5.0,
    slow: Literal["fail", "warn"] = "fail",
    world: Literal["auto", "fake"] = "auto",
    folder: str | Path | None = None,
) -> list[BoundCheck]:
    """The checks of a wrapper, to be called one by one.

    Args:
        changes: what it means to change: `manifest`, `instruction`, `start`, `observations`, `actions`, `report`,
            `context`; everything else must pass through it.

    The other arguments are those of `agent_checks`.
    """
    expectations = Expectations(time_limit=time_limit, slow=slow, world=world, changes=tuple(changes))
    return _bound("wrapper", name, options, vision, vision_options, exemptions, expectations, folder)


def factor_checks(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    scene: str = "tabletop",
    baseline: str | None = None,
    exemptions: Mapping[str, str] | None = None,
    world: Literal["auto", "fake"] = "auto",
    folder: str | Path | None = None,
) -> list[BoundCheck]:
    """The checks of a factor, to be called one by one.

    Args:
        scene: what it is applied to: a built-in scene or the path of a TOML file.
        baseline: the level that shows what the scene shows; by default at most one may, whichever it is.
        world: `fake`: nothing is built by the simulator, and nothing is drawn.

    The other arguments are those of `agent_checks`.
    """
    expectations = Expectations(world=world, scene=scene, baseline=baseline)
    return _bound("factor", name, options, None, None, exemptions, expectations, folder)


def metric_checks(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    exemptions: Mapping[str, str] | None = None,
    folder: str | Path | None = None,
) -> list[BoundCheck]:
    """The checks of a metric, to be called one by one; arguments as of `agent_checks`."""
    return _bound("metric", name, options, None, None, exemptions, Expectations(), folder)


def _bound(
    kind: str,
    name: str,
    options: Mapping[str, Any] | None,
    vision: str | None,
    vision_options: Mapping[str, Any] | None,
    exemptions: Mapping[str, str] | None,
    expectations: Expectations,
    folder: str | Path | None,
) -> list[BoundCheck]:
    checks = checks_of(kind)
    reasons = checked_exemptions(exemptions or {}, checks)
    one = subject(
        kind, name, options, vision=vision, vision_options=vision_options, folder=folder, expectations=expectations
    )
    return [BoundCheck(check, one, reasons.get(check.name)) for check in checks]


def _skip(reason: str) -> NoReturn:
    raise unittest.SkipTest(reason)  # pytest takes it for a skip of its own


def _expected_failure(reason: str) -> NoReturn:
    try:
        import pytest  # only inside pytest is there such a thing as an expected failure
    except ImportError:
        raise unittest.SkipTest(reason) from None
    pytest.xfail(reason)
