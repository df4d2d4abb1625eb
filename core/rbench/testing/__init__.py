"""What plugin authors test with: the conformance kit, a world without graphics, a template.

::

    import pytest
    from rbench.testing import agent_checks

    @pytest.mark.parametrize("check", agent_checks("my-agent"), ids=str)
    def test_conformance(check):
        check()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rbench.testing.checks import Check, CheckFailed, Result, run_checks
    from rbench.testing.fake_world import FakeWorld
    from rbench.testing.playing import Played, play
    from rbench.testing.pytest_support import BoundCheck, agent_checks, factor_checks, metric_checks, wrapper_checks
    from rbench.testing.scenarios import Scenario, baselines, scenario

_HOMES = {
    "BoundCheck": "pytest_support",
    "Check": "checks",
    "CheckFailed": "checks",
    "FakeWorld": "fake_world",
    "Played": "playing",
    "Result": "checks",
    "Scenario": "scenarios",
    "agent_checks": "pytest_support",
    "baselines": "scenarios",
    "factor_checks": "pytest_support",
    "metric_checks": "pytest_support",
    "play": "playing",
    "run_checks": "checks",
    "scenario": "scenarios",
    "wrapper_checks": "pytest_support",
}

__all__ = [
    "BoundCheck",
    "Check",
    "CheckFailed",
    "FakeWorld",
    "Played",
    "Result",
    "Scenario",
    "agent_checks",
    "baselines",
    "factor_checks",
    "metric_checks",
    "play",
    "run_checks",
    "scenario",
    "wrapper_checks",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rbench.testing' has no attribute {name!r}")
    if name == "FakeWorld":
        # It imports the simulator, which must find the GL backend settled that the user may have chosen.
        importlib.import_module("rbench.testing.worlds").settle_gl()
    value = getattr(importlib.import_module(f"rbench.testing.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
