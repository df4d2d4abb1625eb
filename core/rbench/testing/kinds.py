"""Which checks there are for which kind of contribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rbench.errors import UsageError, did_you_mean
from rbench.testing.actions import CHECKS as OF_ACTIONS
from rbench.testing.checks import Check
from rbench.testing.conventions import CHECKS as OF_CONVENTIONS
from rbench.testing.factor_levels import CHECKS as OF_LEVELS
from rbench.testing.factor_setups import CHECKS as OF_SETUPS
from rbench.testing.factor_subject import FactorSubject
from rbench.testing.factor_worlds import CHECKS as OF_BUILT_LEVELS
from rbench.testing.isolation import CHECKS as OF_ISOLATION
from rbench.testing.making import CHECKS as OF_MAKING
from rbench.testing.making import options
from rbench.testing.metric_subject import MetricSubject
from rbench.testing.metrics import CHECKS as OF_METRICS
from rbench.testing.perception import CHECKS as OF_PERCEPTION
from rbench.testing.real_world import CHECKS as IN_THE_REAL_WORLD
from rbench.testing.resources import CHECKS as OF_RESOURCES
from rbench.testing.subjects import AgentSubject, Subject
from rbench.testing.wrappers import CHECKS as OF_WRAPPERS
from rbench.testing.wrappers import WrapperSubject

_BEFORE = (*OF_MAKING, *OF_ACTIONS, *OF_ISOLATION, *OF_PERCEPTION)
_AFTER = (*OF_RESOURCES, *IN_THE_REAL_WORLD)

#: Kind -> what makes its subjects, and its checks in the order in which they are run.
KINDS: Mapping[str, tuple[Callable[..., Subject], tuple[Check, ...]]] = {
    "agent": (AgentSubject, (*_BEFORE, *OF_CONVENTIONS, *_AFTER)),
    "factor": (FactorSubject, (options, *OF_LEVELS, *OF_SETUPS, *OF_BUILT_LEVELS)),
    "metric": (MetricSubject, (options, *OF_METRICS)),
    "wrapper": (WrapperSubject, (*_BEFORE, *OF_WRAPPERS, *_AFTER)),
}


def checks_of(kind: str) -> tuple[Check, ...]:
    """The checks of a kind.

    Raises:
        UsageError: there are none for it.
    """
    return _of(kind)[1]


def subject_of(recipe: Mapping[str, Any]) -> Any:
    """A subject as `AgentSubject.recipe` wrote it down."""
    details = dict(recipe)
    return _of(details.pop("kind"))[0](**details)


def subject(kind: str, name: str, options: Mapping[str, Any] | None = None, **details: Any) -> Subject:
    """A subject of a kind; `details` as of its class."""
    return _of(kind)[0](name, options, **details)


def _of(kind: str) -> tuple[Callable[..., Subject], tuple[Check, ...]]:
    if kind not in KINDS:
        raise UsageError(
            f"there are no checks for {kind!r} plugins.{did_you_mean(kind, KINDS)} Name one of"
            f" {', '.join(f'{known}:NAME' for known in KINDS)}."
        )
    return KINDS[kind]
