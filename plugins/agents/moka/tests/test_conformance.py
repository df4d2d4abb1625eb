"""`moka` keeps the contract of agents."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rbench.testing import agent_checks


@pytest.mark.parametrize("check", agent_checks("moka"), ids=str)
def test_conformance(check: Callable[[], None]) -> None:
    check()
