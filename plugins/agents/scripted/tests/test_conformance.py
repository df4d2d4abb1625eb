"""The scripted agents keep the contract that every agent keeps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rbench.testing import agent_checks

CHECKS = [
    pytest.param(check, id=f"{name}-{check}")
    for name, competent in (("expert", True), ("servo", True), ("idle", False), ("random", False))
    for check in agent_checks(name, competent=competent)
]


@pytest.mark.parametrize("check", CHECKS)
def test_conformance(check: Callable[[], None]) -> None:
    check()
