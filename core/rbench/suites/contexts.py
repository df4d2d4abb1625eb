"""Contexts: which settings of the context factors a suite runs its dimensions in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Literal

from rbench.design import Context
from rbench.suites.suite import BASE, SuiteFactor


def structured_union(factors: Sequence[SuiteFactor], multiplicity: Literal["paper", "unique"]) -> Iterator[Context]:
    """Each context factor over its levels while the others keep their baselines (RoboView-Bias 5.2).

    Formula (2) of the paper is a set union, but its instance counts need one context for every level of
    every factor: the one in which all have their baseline occurs once a factor. `paper` keeps these as
    separate contexts (separate jitter, so that their difference is a test-retest check); `unique`
    merges them into `base`.

    Args:
        factors: the context factors, in suite order.
    """
    baselines = {factor.name: factor.baseline for factor in factors}
    if not factors or (multiplicity == "unique" and any(f.changes(f.baseline) for f in factors)):
        yield Context(BASE, baselines)
    for factor in factors:
        for level in factor.level_names:
            if multiplicity == "paper" or level != factor.baseline:
                yield Context(f"{factor.name}-{level}", {**baselines, factor.name: level})


def full_product(factors: Sequence[SuiteFactor]) -> Iterator[Context]:
    """Every combination of levels: `position-p1_shape-cube`; `base` when there are no context factors."""
    if not factors:
        yield Context(BASE, {})
        return
    for levels in product(*(factor.level_names for factor in factors)):
        chosen: Mapping[str, str] = {f.name: level for f, level in zip(factors, levels, strict=True)}
        yield Context("_".join(f"{name}-{level}" for name, level in chosen.items()), chosen)
