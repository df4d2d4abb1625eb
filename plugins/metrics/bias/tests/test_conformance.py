"""`bias` keeps the contract of metrics."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rbench.testing import metric_checks

#: Fewer permutations than by default: what is checked does not hang on their number.
QUICK = {"permutations": 99, "bootstrap": 99}


@pytest.mark.parametrize("check", metric_checks("bias", QUICK), ids=str)
def test_conformance(check: Callable[[], None]) -> None:
    check()
