"""How often each word occurs, overall and by what was true, in the form that reports draw.

A report draws whatever a metric gives under `histograms`: see docs/report.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any


class Histogram:
    """Counts of words.

    Args:
        figure: name of its figure.
        title: what is counted, for people.
        factor: whose levels (or groups of levels) `by` has.
        order: words in a fixed order; else the most frequent first.
    """

    def __init__(self, figure: str, title: str, factor: str, order: Sequence[str] = ()) -> None:
        self._figure, self._title, self._factor, self._order = figure, title, factor, tuple(order)
        self._total = Counter[str]()
        self._counts: dict[str, Counter[str]] = {}

    def add(self, true: str | None, words: Iterable[str]) -> None:
        """One thing that has these words, each counted once.

        Args:
            true: the level or group of levels that was true, None: not known.
        """
        key = "" if true is None else true
        self._total[key] += 1
        self._counts.setdefault(key, Counter()).update(set(words))

    def plain(self) -> dict[str, Any]:
        """`figure`, `title`, `factor`, `total` things, `counts` by word; `by` the same for each known truth."""
        everything = sum(self._counts.values(), Counter[str]())
        return {
            "figure": self._figure,
            "title": self._title,
            "factor": self._factor,
            "total": self._total.total(),
            "counts": self._sorted(everything),
            "by": {
                key: {"total": self._total[key], "counts": self._sorted(self._counts[key])}
                for key in sorted(self._counts)
                if key
            },
        }

    def _sorted(self, counts: Counter[str]) -> dict[str, int]:
        if self._order:
            return {word: counts[word] for word in self._order}
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
