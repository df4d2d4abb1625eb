"""How far two readers agree: Cohen's kappa with its interval, and the table it comes from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from rbench.validation.findings import Answer

ANSWERS: tuple[Answer, ...] = get_args(Answer)

#: 97.5 % quantile of the normal distribution.
_Z = 1.959963984540054


@dataclass(frozen=True)
class Agreement:
    """What two readers said of the same pictures.

    Attributes:
        counts: a row an answer of the first, a column an answer of the second, in the order of `ANSWERS`.
        agreement: share of equal answers, 0..1; None without a picture.
        kappa: Cohen's kappa, at most 1; None when both gave one and the same answer throughout, for then chance
            alone agrees as well.
        interval: 95 %, of kappa; None without kappa, and when one of them gave one answer throughout: then kappa is
            0 by construction and says nothing of how far they agree.
    """

    counts: tuple[tuple[int, ...], ...]
    agreement: float | None
    kappa: float | None
    interval: tuple[float, float] | None

    @property
    def pictures(self) -> int:
        """How many both read."""
        return sum(map(sum, self.counts))


def agreement_of(pairs: Iterable[tuple[Answer, Answer]]) -> Agreement:
    """The agreement of two readers over (answer of the first, answer of the second), a pair a picture."""
    counted = Counter(pairs)
    counts = tuple(tuple(counted[(first, second)] for second in ANSWERS) for first in ANSWERS)
    total = sum(counted.values())
    if not total:
        return Agreement(counts, None, None, None)
    share = [[count / total for count in row] for row in counts]
    rows = [sum(row) / total for row in counts]
    columns = [sum(column) / total for column in zip(*counts, strict=True)]
    observed = sum(share[i][i] for i in range(len(ANSWERS)))
    expected = sum(row * column for row, column in zip(rows, columns, strict=True))
    if expected > 1 - 1e-12:
        return Agreement(counts, observed, None, None)
    kappa = (observed - expected) / (1 - expected)
    if max(rows) == 1 or max(columns) == 1:
        return Agreement(counts, observed, kappa, None)
    return Agreement(counts, observed, kappa, _interval(share, rows, columns, kappa, expected, total))


def _interval(
    share: Sequence[Sequence[float]],
    rows: Sequence[float],
    columns: Sequence[float],
    kappa: float,
    expected: float,
    total: int,
) -> tuple[float, float]:
    """Large-sample interval after Fleiss, Cohen and Everitt (Psychological Bulletin 72, 1969), equation 13.

    When all answers agree its width is zero, however few there are. Then the lower end is that of Wilson's interval
    of the agreement, put through kappa's formula.
    """
    if all(share[i][j] == 0 for i in range(len(rows)) for j in range(len(columns)) if i != j):
        lowest = total / (total + _Z * _Z)
        return (lowest - expected) / (1 - expected), 1.0
    same = sum(share[i][i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in range(len(rows)))
    other = sum(
        share[i][j] * (columns[i] + rows[j]) ** 2 for i in range(len(rows)) for j in range(len(columns)) if i != j
    )
    variance = same + (1 - kappa) ** 2 * other - (kappa - expected * (1 - kappa)) ** 2
    half = _Z * math.sqrt(max(variance, 0.0) / total) / (1 - expected)
    return max(kappa - half, -1.0), min(kappa + half, 1.0)
