"""Shards: a plan cut into parts that machines without a common executor can run, each a fair sample of the whole."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import gcd, lcm

from rbench.errors import UsageError


@dataclass(frozen=True)
class Shard:
    """Part `index` of `of` parts, counted from 1.

    Raises:
        UsageError: there is no such part.
    """

    index: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.of:
            raise UsageError(f"shard {self} does not exist; give I/N with I from 1 to N, such as 2/4")

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    @staticmethod
    def parse(text: str) -> Shard:
        """Read `2/4`.

        Raises:
            UsageError: it is something else.
        """
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
        if match is None:
            raise UsageError(f"shard {text[:40]!r} is not of the form I/N; give part and number of parts, such as 2/4")
        return Shard(int(match[1]), int(match[2]))

    def takes(self, position: int, dimensions: int) -> bool:
        """Whether the episode at a position of the plan (from 0) belongs to this shard.

        Not every N-th position: dimensions take turns, so with N equal to their number a shard would get one of them.
        The two cycles are shifted against each other once they have come round together.

        Args:
            dimensions: how many take turns in the plan.
        """
        return (position + position // lcm(dimensions, self.of)) % self.of == self.index - 1

    def positions(self, begin: int, end: int, dimensions: int) -> Iterator[int]:
        """The positions in [begin, end) that belong to this shard, in order."""
        block = lcm(dimensions, self.of)
        for number in range(begin // block, -(-end // block)):
            first = number * block + (self.index - 1 - number) % self.of
            yield from (p for p in range(first, (number + 1) * block, self.of) if begin <= p < end)

    def counts(self, turns: Mapping[str, int], begin: int, repeats: int, dimensions: int) -> Counter[str]:
        """How many episodes of each dimension it has in repeats that are alike.

        Args:
            turns: episodes of each dimension in one repeat; they take turns until they are used up.
            begin: position of the first episode of these repeats.
            repeats: how many there are.
            dimensions: how many take turns in the plan.
        """
        each = sum(turns.values())
        # After so many repeats everything stands as at the beginning: walking more of them would tell nothing new.
        period = lcm(dimensions, self.of) * self.of
        cycle = period // gcd(period, each)
        stages = _stages(turns)
        walked = [self._counts_of_one(stages, begin + k * each, each, dimensions) for k in range(min(repeats, cycle))]
        total: Counter[str] = Counter()
        for k, counts in enumerate(walked):
            times = repeats // cycle + (k < repeats % cycle) if repeats >= cycle else 1
            for name, number in counts.items():
                total[name] += number * times
        return total

    def _counts_of_one(
        self, stages: list[tuple[int, list[str]]], begin: int, length: int, dimensions: int
    ) -> Counter[str]:
        ends = list(accumulate(size for size, _ in stages))
        counts: Counter[str] = Counter()
        for position in self.positions(begin, begin + length, dimensions):
            inside = position - begin
            stage = bisect_right(ends, inside)
            size, names = stages[stage]
            counts[names[(inside - (ends[stage] - size)) % len(names)]] += 1
        return counts


def _stages(turns: Mapping[str, int]) -> list[tuple[int, list[str]]]:
    """Stretches of one repeat in which the same dimensions take turns: length, and names in their order."""
    stages = []
    begin = 0
    for end in sorted({size for size in turns.values() if size}):
        names = [name for name, size in turns.items() if size > begin]
        stages.append(((end - begin) * len(names), names))
        begin = end
    return stages
