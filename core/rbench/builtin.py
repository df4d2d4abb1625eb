"""Core's own contributions: the built-in suites."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import SuiteContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_suites() -> Iterable[SuiteContribution]:
    """The built-in suites."""
    yield SuiteContribution(
        name="roboview-bias",
        summary="Visual bias in manipulation: 2,127 instances of colour, camera pose, Euler angles and distance.",
        target="rbench.suites:roboview-bias.toml",
        verified="The design reproduces the paper's instance and episode counts.",
    )
