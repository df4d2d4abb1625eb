"""Differences that can only be noise: contexts that are the same twice, and levels of equal value."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import bdtr

from rbench.design import Design
from rbench.values import to_plain
from rbench_metric_bias.outcomes import OutcomeTable


def equal_contexts(
    table: OutcomeTable, design: Design, permutations: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Contexts with the same setting of every context factor, which differ in their jitter alone.

    The paper's design has the baseline three times. p: whole blocks are permuted among the equal contexts; the
    statistic is the variance of their success rates. A small p says that blocks are not what the design takes
    them for (a policy server that changed in between, say).
    """
    settings = {context.name: dict(context.levels) for context in design.contexts}
    alike: dict[str, list[int]] = {}
    for row, (task, context) in enumerate(table.places):
        if settings.get(context) and table.episodes[row].any():
            alike.setdefault(json.dumps([task, settings[context]], sort_keys=True), []).append(row)
    return [_retest(table, rows, permutations, rng) for rows in alike.values() if len(rows) > 1]


def _retest(table: OutcomeTable, rows: list[int], permutations: int, rng: np.random.Generator) -> dict[str, Any]:
    successes, episodes = table.by_block(table.successes)[rows], table.by_block(table.episodes)[rows]
    present = episodes > 0
    rates = successes[present] / episodes[present]
    context = np.broadcast_to(np.arange(len(rows))[:, None], present.shape)[present]
    blocks = np.bincount(context)

    def statistic(values: Any) -> Any:
        means = np.stack([values[..., context == i].mean(axis=-1) for i in range(len(rows))], axis=-1)
        return (blocks * (means - values.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)

    seen = float(statistic(rates))
    drawn = statistic(rng.permuted(np.broadcast_to(rates, (permutations, len(rates))), axis=1))
    tolerance = 1e-9 * max(seen, float(drawn.max()))
    tested = float(drawn.max() - drawn.min()) > tolerance
    pooled = successes.sum(axis=1) / episodes.sum(axis=1)
    return {
        "contexts": [table.contexts[row] for row in rows],
        "success_rates": [float(rate) for rate in pooled],
        "largest_difference": float(pooled.max() - pooled.min()),
        "p_value": (int((drawn >= seen - tolerance).sum()) + 1) / (permutations + 1) if tested else None,
    }


def equal_levels(table: OutcomeTable) -> list[dict[str, Any]]:
    """Pairs of levels with equal values, found from the records: the same stimulus under two names.

    In every block the two saw the same scene, so an episode pair that differs shows how much the agent itself
    varies. p: the exact test that either level is as often the better one. Three equal levels make two pairs.
    """
    same: dict[str, list[str]] = {}
    for level, value in table.values.items():
        if value is not None:
            same.setdefault(json.dumps(to_plain(value), sort_keys=True), []).append(level)
    (names,) = table.levels.values()
    return [
        _pair(table, names, pair)
        for levels in sorted(sorted(found) for found in same.values())
        for pair in pairwise(levels)
    ]


def _pair(table: OutcomeTable, names: tuple[str, ...], pair: tuple[str, ...]) -> dict[str, Any]:
    a, b = (names.index(level) for level in pair)
    both = (table.episodes[:, a] > 0) & (table.episodes[:, b] > 0)
    first = int((table.successes[:, a] > table.successes[:, b])[both].sum())
    second = int((table.successes[:, b] > table.successes[:, a])[both].sum())
    differ = first + second
    return {
        "levels": list(pair),
        "pairs": int(both.sum()),
        "differ": differ,
        "first_only": first,
        "second_only": second,
        "p_value": min(1.0, 2 * float(bdtr(min(first, second), differ, 0.5))) if differ else None,
    }
