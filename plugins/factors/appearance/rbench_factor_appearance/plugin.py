"""Hooks of rbench-factor-appearance."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import FactorContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_factors() -> Iterable[FactorContribution]:
    """The factor `color`."""
    yield FactorContribution(
        name="color",
        summary="Colour of one object: the 141 named colours of CSS.",
        target="rbench_factor_appearance.color:Color",
        options="rbench_factor_appearance.color:Options",
        verified="Every level built and read back in MuJoCo; the object's pixels move towards it, no others do.",
    )
