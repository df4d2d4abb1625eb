"""What a mark says when it is pointed at."""

from __future__ import annotations

from typing import Any

from rbench.reporting.numbers import percent
from rbench.reporting.plotted import Row


def rate_tip(name: str, row: Row) -> str:
    """`crimson: 54.55 % (30/55), 95 % interval 41.53 to 66.98`."""
    if not row["episodes"]:
        return f"{name}: no episodes"
    text = f"{name}: {percent(row['success_rate'])} % ({row['successes']}/{row['episodes']})"
    return text + interval_tip(row["low"], row["high"])


def interval_tip(low: Any, high: Any) -> str:
    """The 95 % interval of a rate, or nothing when there is none."""
    return "" if low is None or high is None else f", 95 % interval {percent(low)} to {percent(high)}"
