"""Two runs over the same episodes: which agent succeeds more, and which shows more bias.

Both runs saw the same scenes: the same jitter in every block. The difference of a whole block is one piece of evidence,
whatever ties its episodes; with independent seeds that of a single episode is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr

from rbench_metric_bias.coefficients import coefficient_of_variation, mean_of_defined
from rbench_metric_bias.debiased import debiased
from rbench_metric_bias.intervals import wilson_interval
from rbench_metric_bias.outcomes import OutcomeTable, Rates
from rbench_metric_bias.verdict import LEVEL, holm

Interval = tuple[float, float]

#: Units up to which all sign flips are made.
_ALL_SIGNS_UP_TO = 12
#: Signs drawn at once.
_CHUNK = 2_000_000


@dataclass(frozen=True, eq=False)
class Differences:
    """Difference between two runs (second minus first), by independent unit.

    Attributes:
        amounts: (units,) contribution of each unit to the difference; they add up to it.
        weights: (units,) share of each unit in the rates; they add up to 1.
    """

    amounts: Rates
    weights: Rates

    @property
    def difference(self) -> float:
        return float(self.amounts.sum())

    def flipped(self, permutations: int, rng: np.random.Generator) -> SignFlips:
        """Sums under sign flips of units: all ways when there are few units, else drawn ones."""
        units = len(self.amounts)
        if units <= _ALL_SIGNS_UP_TO:
            signs = np.array(list(itertools.product((1.0, -1.0), repeat=units)))
            return SignFlips(self, signs @ self.amounts, signs @ self.weights, exact=True)
        sums: list[tuple[Rates, Rates]] = []
        chunk = max(1, _CHUNK // units)
        for start in range(0, permutations, chunk):
            signs = rng.integers(0, 2, (min(chunk, permutations - start), units)) * 2.0 - 1.0
            sums.append((signs @ self.amounts, signs @ self.weights))
        amounts, weights = (np.concatenate(parts) for parts in zip(*sums, strict=True))
        return SignFlips(self, amounts, weights, exact=False)


@dataclass(frozen=True, eq=False)
class SignFlips:
    """A difference, and what it is when the signs of its units are flipped: a test, and the interval it has.

    Attributes:
        amounts, weights: sums over units of the flipped amounts and weights.
        exact: every way to flip is among them.
    """

    of: Differences
    amounts: Rates
    weights: Rates
    exact: bool

    def p_value(self, truth: float = 0.0) -> float:
        """Of the hypothesis that the difference is `truth`, two-sided."""
        seen = abs(self.of.difference - truth)
        at_least = int((np.abs(self.amounts - truth * self.weights) >= seen * (1 - 1e-9)).sum())
        return at_least / len(self.amounts) if self.exact else (at_least + 1) / (len(self.amounts) + 1)

    def interval(self, confidence: float = 0.95) -> Interval:
        """The differences that the test does not reject, within [-1, 1].

        When all units agree their spread says nothing: as much is left open as Wilson's interval leaves for something
        that none of so many units showed.
        """
        difference, units = self.of.difference, len(self.of.amounts)
        if float(np.abs(self.of.amounts - difference * self.of.weights).max()) < 1e-12:
            unseen = wilson_interval(0.0, units, confidence)[1]
            centre = difference * (1 - unseen)
            return max(-1.0, centre - unseen), min(1.0, centre + unseen)
        return self._end(-1.0, 1 - confidence), self._end(1.0, 1 - confidence)

    def _end(self, bound: float, level: float) -> float:
        if self.p_value(bound) > level:
            return bound
        inside, outside = self.of.difference, bound
        for _ in range(40):
            middle = (inside + outside) / 2
            if self.p_value(middle) > level:
                inside = middle
            else:
                outside = middle
        return outside


def paired(first: OutcomeTable, second: OutcomeTable) -> tuple[OutcomeTable, OutcomeTable]:
    """The tables of one dimension, with the episodes that both have."""
    both = first.episodes * second.episodes
    return first.restricted(both), second.restricted(both)


def unit_differences(first: OutcomeTable, second: OutcomeTable, independent: bool) -> dict[Any, tuple[int, int]]:
    """For each independent unit of a dimension the difference of successes and the number of episodes."""
    change, episodes = second.successes - first.successes, first.episodes
    if independent:
        return {(first.dimension.name, *slot): (int(change[slot]), 1) for slot in map(tuple, np.argwhere(episodes))}
    changes, counts = first.by_block(change), first.by_block(episodes)
    return {
        (*first.places[context], int(repeat)): (int(changes[context, repeat]), int(counts[context, repeat]))
        for context, repeat in np.argwhere(counts)
    }


def mean_difference(dimensions: Sequence[Mapping[Any, tuple[int, int]]]) -> Differences | None:
    """The mean over dimensions of their differences, each of equal weight; units that they share are one unit.

    None when no dimension has an episode.
    """
    used = [units for units in dimensions if units]
    if not used:
        return None
    names = sorted({name for units in used for name in units}, key=str)
    amounts, weights = np.zeros(len(names)), np.zeros(len(names))
    place = {name: i for i, name in enumerate(names)}
    for units in used:
        total = sum(count for _, count in units.values()) * len(used)
        for name, (change, count) in units.items():
            amounts[place[name]] += change / total
            weights[place[name]] += count / total
    return Differences(amounts, weights)


def rate_comparison(
    differences: Differences | None, margin: float, permutations: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Difference of success rates with interval and p, and whether it is within the margin.

    `equivalent`: two one-sided tests at 5 %, that is, the 90 % interval lies within the margin.
    """
    keys = ("difference", "difference_interval", "p_value", "equivalent")
    if differences is None:
        return dict.fromkeys(keys)
    flips = differences.flipped(permutations, rng)
    low, high = flips.interval(0.90)
    values = (differences.difference, flips.interval(), flips.p_value(), -margin < low and high < margin)
    return dict(zip(keys, values, strict=True))


def rate_verdict(row: Mapping[str, Any], p: float | None) -> str | None:
    """Who is better when p is at most 5 %; else `equivalent`, or `cannot tell`."""
    if p is None:
        return None
    if p <= LEVEL:
        return "second is better" if row["difference"] > 0 else "first is better"
    return "equivalent" if row["equivalent"] else "cannot tell"


def cv_comparison(first: OutcomeTable, second: OutcomeTable, eps: float, ddof: int) -> dict[str, Any]:
    """CVs of both runs over the common episodes, and the difference of the debiased ones.

    The interval joins the two intervals (method of variance estimates recovery); it takes the runs as independent,
    which makes it too wide rather than too narrow when they share their jitter.
    """
    paper = [mean_of_defined(coefficient_of_variation(table.cell_rates, eps, ddof)) for table in (first, second)]
    a, b = (debiased(*table.blocks()) for table in (first, second))
    difference, interval, verdict = None, None, None
    if a.cv is not None and b.cv is not None:
        difference = b.cv - a.cv
        if a.cv_interval is not None and b.cv_interval is not None:
            low = difference - math.hypot(b.cv - b.cv_interval[0], a.cv_interval[1] - a.cv)
            high = difference + math.hypot(b.cv_interval[1] - b.cv, a.cv - a.cv_interval[0])
            interval = (low, high)
            more = {True: "second has more bias", False: "first has more bias"}
            verdict = "cannot tell" if low <= 0 <= high else more[difference > 0]
    return {
        "cv": paper,
        "cv_debiased": [a.cv, b.cv],
        "cv_difference": difference,
        "cv_difference_interval": interval,
        "cv_verdict": verdict,
    }


def mcnemar(first: OutcomeTable, second: OutcomeTable) -> dict[str, Any]:
    """Episodes in which only one run succeeded, and McNemar's exact p; a second number.

    It takes episodes as independent, so with shared seeds it finds differences that are not there.
    """
    first_only = int((first.successes > second.successes).sum())
    second_only = int((second.successes > first.successes).sum())
    differ = first_only + second_only
    p = min(1.0, 2 * float(bdtr(min(first_only, second_only), differ, 0.5))) if differ else None
    return {"discordant": [first_only, second_only], "mcnemar_p": p}


def success_counts(first: OutcomeTable, second: OutcomeTable) -> dict[str, Any]:
    """Common episodes and blocks, and the success rates of both runs over them."""
    episodes = int(first.episodes.sum())
    rates = [int(table.successes.sum()) / episodes if episodes else None for table in (first, second)]
    return {
        "episodes": episodes,
        "blocks": int((first.by_block(first.episodes) > 0).sum()),
        "success_rates": rates,
    }


def adjust(rows: Iterable[dict[str, Any]]) -> None:
    """Holm's adjustment over the dimensions, and the verdict of each."""
    listed = list(rows)
    adjusted = holm({number: row["p_value"] for number, row in enumerate(listed)})
    for number, row in enumerate(listed):
        row["p_adjusted"] = adjusted[number]
        row["verdict"] = rate_verdict(row, adjusted[number])
