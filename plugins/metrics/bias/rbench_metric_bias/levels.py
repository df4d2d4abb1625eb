"""Rates of single levels and of groups of levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rbench_metric_bias.intervals import pooled_rate_interval, wilson_interval
from rbench_metric_bias.outcomes import OutcomeTable

#: How many levels stand at either end.
SHOWN = 3


def level_rates(table: OutcomeTable) -> dict[str, Any]:
    """The levels of lowest and of highest success rate over all contexts, and the interval of every level seen.

    At most three stand at either end, and no level at both. An episode of one level is one of each block, so its
    episodes are independent, and Wilson's interval holds. The intervals are simultaneous over all levels (Bonferroni):
    whichever levels happen to stand at the ends, all intervals hold together with 95 %.
    """
    (names,) = table.levels.values()
    successes, episodes = table.successes.sum(axis=(0, 2)), table.episodes.sum(axis=(0, 2))
    seen = [level for level in range(len(names)) if episodes[level]]
    # Names break ties.
    ranked = sorted(seen, key=lambda level: (successes[level] / episodes[level], names[level]))

    def interval(level: int) -> tuple[float, float]:
        n = int(episodes[level])
        return wilson_interval(int(successes[level]) / n, n, 1 - 0.05 / len(seen))

    def row(level: int) -> dict[str, Any]:
        k, n = int(successes[level]), int(episodes[level])
        rate = {"successes": k, "episodes": n, "success_rate": k / n, "interval": interval(level)}
        return {"level": names[level], **rate}

    shown = min(SHOWN, len(seen) // 2)
    return {
        "worst_levels": [row(level) for level in ranked[:shown]],
        "best_levels": [row(level) for level in ranked[::-1][:shown]],
        "level_intervals": {names[level]: interval(level) for level in seen},
    }


def group_rates(table: OutcomeTable, groups: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Success rate of each group of levels, with its interval over blocks.

    Args:
        table: of a dimension with one factor.
        groups: group of each level; levels without one are left out.
    """
    (names,) = table.levels.values()
    result = {}
    for group in sorted({groups[name] for name in names if name in groups}):
        members = [level for level, name in enumerate(names) if groups.get(name) == group]
        successes, episodes = (table.by_block(x[:, members]) for x in (table.successes, table.episodes))
        k, n = int(successes.sum()), int(episodes.sum())
        interval = pooled_rate_interval(successes, episodes)
        result[group] = {
            "levels": int(np.count_nonzero(table.episodes[:, members].any(axis=(0, 2)))),
            "successes": k,
            "episodes": n,
            "success_rate": k / n if n else None,
            "success_rate_interval": interval,
        }
    return result
