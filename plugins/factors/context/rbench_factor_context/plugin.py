"""Hooks of rbench-factor-context."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import FactorContribution
from rbench.hookspecs import hookimpl

_VERIFIED = "Every level built and read back in MuJoCo."


@hookimpl
def rbench_factors() -> Iterable[FactorContribution]:
    """The factors `position`, `shape` and `instruction`."""
    yield FactorContribution(
        name="position",
        summary="Where one object starts: four places on the table.",
        target="rbench_factor_context.position:Position",
        options="rbench_factor_context.position:Options",
        verified=_VERIFIED,
    )
    yield FactorContribution(
        name="shape",
        summary="Shape of one object: cube, cylinder, pyramid, hexagonal prism.",
        target="rbench_factor_context.shape:Shape",
        options="rbench_factor_context.shape:Options",
        verified=_VERIFIED,
    )
    yield FactorContribution(
        name="instruction",
        summary="The task in three sentences of the same meaning.",
        target="rbench_factor_context.instruction:Instruction",
        options="rbench_factor_context.instruction:Options",
        verified=_VERIFIED,
    )
