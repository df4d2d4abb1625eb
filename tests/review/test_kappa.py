"""Cohen's kappa, its interval and its edges."""

from __future__ import annotations

import pytest

from rbench.review.kappa import ANSWERS, agreement_of
from rbench.validation.findings import Answer


def pairs(table: list[list[int]]) -> list[tuple[Answer, Answer]]:
    return [
        (ANSWERS[row], ANSWERS[column])
        for row, counts in enumerate(table)
        for column, count in enumerate(counts)
        for _ in range(count)
    ]


# Computed with statsmodels 0.15, `stats.inter_rater.cohens_kappa`: kappa, kappa_low, kappa_upp.
@pytest.mark.parametrize(
    ("table", "kappa", "low", "high"),
    [
        ([[20, 5, 0], [10, 15, 0], [0, 0, 0]], 0.4, 0.151092290, 0.648907710),
        ([[25, 4, 1], [3, 10, 2], [1, 1, 3]], 0.563636364, 0.357405088, 0.769867639),
        ([[53, 5, 2], [11, 14, 5], [1, 6, 3]], 0.428571429, 0.279694855, 0.577448003),
    ],
)
def test_kappa_and_its_interval_are_those_of_statsmodels(
    table: list[list[int]], kappa: float, low: float, high: float
) -> None:
    found = agreement_of(pairs(table))
    assert found.kappa == pytest.approx(kappa, abs=1e-8)
    assert found.interval == pytest.approx((low, high), abs=1e-8)
    assert found.counts == tuple(map(tuple, table))


def test_readers_who_answer_by_chance_have_a_kappa_of_zero() -> None:
    assert agreement_of(pairs([[16, 4, 0], [4, 1, 0], [0, 0, 0]])).kappa == pytest.approx(0)


def test_readers_who_always_differ_have_a_negative_kappa() -> None:
    found = agreement_of(pairs([[0, 10, 0], [10, 0, 0], [0, 0, 0]]))
    assert found.kappa == pytest.approx(-1)
    assert found.interval is not None
    assert found.interval[0] >= -1


def test_one_answer_throughout_leaves_kappa_undefined() -> None:
    found = agreement_of([("yes", "yes")] * 12)
    assert (found.agreement, found.kappa, found.interval) == (1.0, None, None)


def test_a_reader_with_one_answer_throughout_leaves_no_interval() -> None:
    found = agreement_of(pairs([[30, 4, 1], [0, 0, 0], [0, 0, 0]]))
    assert found.kappa == pytest.approx(0)
    assert found.interval is None


def test_without_a_picture_nothing_is_known() -> None:
    found = agreement_of([])
    assert (found.pictures, found.agreement, found.kappa, found.interval) == (0, None, None, None)


def test_full_agreement_on_few_pictures_is_not_called_certain() -> None:
    few = agreement_of([("yes", "yes"), ("no", "no")] * 3)
    many = agreement_of([("yes", "yes"), ("no", "no")] * 300)
    assert few.kappa == many.kappa == 1.0
    assert few.interval is not None
    assert many.interval is not None
    assert few.interval[0] < 0.5 < 0.98 < many.interval[0] < many.interval[1] == 1.0
