"""Types of numbers that options take."""

from __future__ import annotations

from math import isfinite
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A number between bounds. NaN is refused, which passes every comparison with them, and so are infinities."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = float(super().convert(value, param, ctx))
        if not isfinite(found):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return found


#: Wall time; beyond three years the system's own clocks overflow somewhere.
SECONDS = FiniteRange(0, 1e8)
