"""The viewpoint factors keep the contract of factors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rbench.testing import factor_checks

#: Factor -> the level that shows what the scene of the checks shows, if there is one.
FACTORS = (("camera-pose", None), ("camera-euler", "yaw0_pitch0"), ("camera-distance", "d0.00"))
CHECKS = [pytest.param(c, id=f"{n}-{c}") for n, level in FACTORS for c in factor_checks(n, baseline=level)]


@pytest.mark.parametrize("check", CHECKS)
def test_conformance(check: Callable[[], None]) -> None:
    check()
