"""From many p-values to one verdict a dimension."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Literal, TypeVar

#: A dimension is called biased when its Holm-adjusted p is at most this.
LEVEL = 0.05

Verdict = Literal["bias", "not resolved"]
Key = TypeVar("Key", bound=Hashable)


def holm(p_values: Mapping[Key, float | None]) -> dict[Key, float | None]:
    """Holm's step-down adjustment: to call everything at most 5 % a finding errs, once or more, in 5 % of studies.

    What could not be tested (None) stays None and does not count. That is allowed because it depends on what the
    tests hold fixed (how many successes a block has), not on how they fall among levels.
    """
    known = sorted((p, number, key) for number, (key, p) in enumerate(p_values.items()) if p is not None)
    adjusted: dict[Key, float | None] = dict.fromkeys(p_values)
    largest = 0.0
    for rank, (p, _, key) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[key] = largest
    return adjusted


def verdict(episodes: int, p_adjusted: float | None) -> Verdict | None:
    """`bias` when the adjusted p is at most 5 %; else `not resolved`, also when nothing could be tested.

    "No bias" is no verdict: few episodes would earn it. The interval of the debiased CV says how much there may be.
    None: there is nothing yet.
    """
    if episodes == 0:
        return None
    return "bias" if p_adjusted is not None and p_adjusted <= LEVEL else "not resolved"
