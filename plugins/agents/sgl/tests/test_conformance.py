"""`sgl` keeps the contract of wrappers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rbench.testing import wrapper_checks


@pytest.mark.parametrize("check", wrapper_checks("sgl", changes=("instruction", "report")), ids=str)
def test_conformance(check: Callable[[], None]) -> None:
    check()
