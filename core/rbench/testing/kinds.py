"""Which checks there are for which kind of contribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rbench.errors import UsageError, did_you_mean
from rbench.testing import (
    actions,
    conventions,
    isolation,
    making,
    perception,
    real_world,
    resources,
    wrappers,
)
from rbench.testing.checks import Check
from rbench.testing.subjects import AgentSubject
from rbench.testing.wrappers import WrapperSubject

_BEHAVIOUR = (
    *making.CHECKS,
    *actions.CHECKS,
    *isolation.CHECKS,
    *perception.CHECKS,
)

#: Kind -> the class of its subjects, and its checks in the order in which they are run.
KINDS: Mapping[str, tuple[type[AgentSubject], tuple[Check, ...]]] = {
    "agent": (AgentSubject, (*_BEHAVIOUR, *conventions.CHECKS, *resources.CHECKS, *real_world.CHECKS)),
    "wrapper": (WrapperSubject, (*_BEHAVIOUR, *wrappers.CHECKS, *resources.CHECKS, *real_world.CHECKS)),
}


def checks_of(kind: str) -> tuple[Check, ...]:
    """The checks of a kind.

    Raises:
        UsageError: there are none for it.
    """
    return _of(kind)[1]


def subject_of(recipe: Mapping[str, Any]) -> AgentSubject:
    """A subject as `AgentSubject.recipe` wrote it down."""
    details = dict(recipe)
    return _of(details.pop("kind"))[0](**details)


def subject(kind: str, name: str, options: Mapping[str, Any] | None = None, **details: Any) -> AgentSubject:
    """A subject of a kind; `details` as of `AgentSubject`."""
    return _of(kind)[0](name, options, **details)


def _of(kind: str) -> tuple[type[AgentSubject], tuple[Check, ...]]:
    if kind not in KINDS:
        raise UsageError(
            f"there are no checks for {kind!r} plugins.{did_you_mean(kind, KINDS)} Name an agent or a wrapper:"
            " agent:NAME, wrapper:NAME."
        )
    return KINDS[kind]
