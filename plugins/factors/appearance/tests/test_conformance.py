"""`color` keeps the contract of factors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rbench.testing import factor_checks


@pytest.mark.parametrize("check", factor_checks("color", baseline="red"), ids=str)
def test_conformance(check: Callable[[], None]) -> None:
    check()
