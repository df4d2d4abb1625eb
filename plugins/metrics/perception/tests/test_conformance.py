"""`descriptions` and `deviation` keep the contract of metrics."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rbench.testing import metric_checks


@pytest.mark.parametrize("check", [*metric_checks("descriptions"), *metric_checks("deviation")], ids=str)
def test_conformance(check: Callable[[], None]) -> None:
    check()
