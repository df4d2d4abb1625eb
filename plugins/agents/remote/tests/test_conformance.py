"""`remote` keeps the contract of agents, with an agent that was made with the serving file alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rbench.testing import BoundCheck, agent_checks
from rbench.testing.kinds import checks_of


@pytest.fixture(scope="module")
def checks(lasting_server: Callable[..., Any]) -> dict[str, BoundCheck]:
    return {str(check): check for check in agent_checks("remote", {"port": lasting_server().port}, world="fake")}


@pytest.mark.parametrize("name", [check.name for check in checks_of("agent")])
def test_conformance(checks: dict[str, BoundCheck], name: str) -> None:
    checks[name]()
