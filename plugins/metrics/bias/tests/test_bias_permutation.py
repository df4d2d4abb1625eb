"""Permutation tests and the noise floor: what is exchanged, what is counted, and what cannot be tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rbench_metric_bias.outcomes import OutcomeTable, tabulate
from rbench_metric_bias.permutation import AnyBias, any_bias, main_effect

Table = Callable[..., OutcomeTable]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def exchanged(table: OutcomeTable, independent: bool = False, permutations: int = 4999, eps: float = 0.0) -> AnyBias:
    return any_bias(table, independent, permutations, rng(), eps, 0)


@pytest.fixture
def table(study: Any) -> Table:
    """The table of one dimension, from outcomes (contexts, levels, repeats); -1 is a missing episode."""

    def make(outcomes: Any) -> OutcomeTable:
        array = np.asarray(outcomes)
        records, design = study({"color": np.zeros(array.shape[:2], int)}, repeats=array.shape[2])
        tabulated = tabulate(records, design)["color"]
        episodes, successes = (array >= 0).astype(int), (array > 0).astype(int)
        return OutcomeTable(
            tabulated.dimension,
            tabulated.places,
            tabulated.levels,
            episodes,
            successes,
            successes.astype(float),
            np.ones(len(array), bool),
        )

    return make


def test_two_successes_of_one_cell_among_independent_cells(table: Table) -> None:
    # C(4, 2) = 6 ways to place 2 successes on 4 episodes; two of them put both in one cell.
    found = exchanged(table([[[1, 1], [0, 0]]]), independent=True)
    assert found == AnyBias(pytest.approx(1 / 3), pytest.approx(100 / 3), (0.0, 100.0), exact=True)  # type: ignore[arg-type]


def test_the_same_with_shared_seeds_exchanges_inside_blocks_only(table: Table) -> None:
    # One success a block: 2 x 2 ways, half of them in one cell.
    found = exchanged(table([[[1, 1], [0, 0]]]))
    assert (found.p_value, found.floor, found.exact) == (0.5, 50.0, True)


def test_drawn_and_counted_agree(table: Table) -> None:
    outcomes = table([[[1, 1, 1], [1, 0, 0], [0, 0, 1]], [[1, 1, 0], [0, 0, 0], [0, 1, 0]]])
    counted, drawn = exchanged(outcomes, permutations=243), exchanged(outcomes, permutations=242)
    assert counted.exact
    assert not drawn.exact
    assert drawn.p_value == pytest.approx(counted.p_value, abs=0.1)
    assert drawn.floor == pytest.approx(counted.floor, rel=0.1)


def test_one_repeat_says_nothing_and_its_cv_is_all_floor(table: Table) -> None:
    found = exchanged(table([[[1], [0], [0]], [[1], [1], [0]]]))
    assert found.p_value is None
    assert found.floor == pytest.approx((100 * 2**0.5 + 100 * 0.5**0.5) / 2)


@pytest.mark.parametrize("outcome", [0, 1])
def test_all_equal_says_nothing(table: Table, outcome: int) -> None:
    outcomes = table(np.full((2, 3, 2), outcome))
    found = exchanged(outcomes)
    assert found.p_value is None
    assert found.floor == (None if outcome == 0 else 0.0)
    assert main_effect(outcomes, 99, rng()) is None


def test_a_jitter_that_moves_all_levels_alike_is_no_bias(table: Table) -> None:
    outcomes = np.broadcast_to([1, 0, 1, 0, 1], (3, 4, 5))
    assert exchanged(table(outcomes)).p_value is None
    assert main_effect(table(outcomes), 99, rng()) is None


def test_one_level_is_no_dimension(table: Table) -> None:
    outcomes = table([[[1, 0, 1]], [[0, 1, 1]]])
    found = exchanged(outcomes)
    assert (found.p_value, found.floor) == (None, None)
    assert main_effect(outcomes, 99, rng()) is None


def test_nothing_at_all(table: Table) -> None:
    outcomes = table(np.full((2, 3, 2), -1))
    assert exchanged(outcomes) == AnyBias(None, None, None, exact=True)
    assert main_effect(outcomes, 99, rng()) is None


def test_missing_episodes_get_no_outcome(table: Table) -> None:
    # The third level has one episode: block 0 has three episodes, block 1 two. One success each: 3 x 2 ways.
    found = exchanged(table([[[1, 1], [0, 0], [0, -1]]]))
    assert found.exact
    # Two ways put both on one of the first two levels: rates 1, 0, 0. The others, such as 1/2, 0, 1, vary less.
    assert found.p_value == pytest.approx(2 / 6)


def test_a_bias_everywhere_is_found_by_both(table: Table) -> None:
    outcomes = np.zeros((4, 5, 4), int)
    outcomes[:, 0] = 1
    assert exchanged(table(outcomes)).p_value == pytest.approx(1 / 5000)
    assert main_effect(table(outcomes), 4999, rng()) < 0.02  # type: ignore[operator]


def test_main_effect_needs_two_contexts(table: Table) -> None:
    outcomes = np.zeros((1, 5, 4), int)
    outcomes[:, 0] = 1
    assert main_effect(table(outcomes), 99, rng()) is None


def test_levels_that_differ_in_every_context_in_another_way_are_no_main_effect(table: Table) -> None:
    outcomes = np.zeros((5, 5, 4), int)
    outcomes[np.arange(5), np.arange(5)] = 1
    assert exchanged(table(outcomes)).p_value == pytest.approx(1 / 5000)
    assert main_effect(table(outcomes), 999, rng()) > 0.5  # type: ignore[operator]


def test_the_floor_of_coin_flips(table: Table) -> None:
    flips = rng().integers(0, 2, (11, 21, 5))
    found = exchanged(table(flips), permutations=499, eps=0.01)
    rate = flips.mean()
    normal_theory = 100 * ((1 - rate) / (5 * rate) * 20 / 21) ** 0.5 * rate / (rate + 0.01)
    assert found.floor == pytest.approx(normal_theory, rel=0.03)
    assert found.floor_interval is not None
    assert found.floor_interval[0] < found.floor < found.floor_interval[1]  # type: ignore[operator]
    # About 2.2 is the standard deviation of the mean over 11 contexts.
    assert found.floor_interval[1] - found.floor_interval[0] == pytest.approx(4 * 2.2, rel=0.25)


def test_very_large_tables_get_fewer_permutations_but_an_answer(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rbench_metric_bias.permutation._WORK", 1000)
    flips = rng().integers(0, 2, (3, 9, 4))
    p = exchanged(table(flips)).p_value
    assert p is not None
    assert p * 1000 == pytest.approx(round(p * 1000))  # 999 drawn and the one seen


def test_counted_arrangements_may_come_in_chunks(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = table([[[1, 1, 1], [1, 0, 0], [0, 0, 1]]])
    whole = exchanged(outcomes)
    monkeypatch.setattr("rbench_metric_bias.permutation._CHUNK", 20)
    assert exchanged(outcomes) == whole


@pytest.mark.parametrize("blocks", [66, 500])
@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize(("outcome", "floor"), [(0, None), (1, 0.0)])
def test_any_number_of_blocks_may_be_all_equal(
    table: Table, blocks: int, independent: bool, outcome: int, floor: float | None
) -> None:
    found = exchanged(table(np.full((blocks, 2, 1), outcome)), independent)
    assert found == AnyBias(None, floor, found.floor_interval, exact=True)


@pytest.mark.parametrize("blocks", [66, 500])
def test_blocks_of_equal_outcomes_change_no_p_value(table: Table, blocks: int) -> None:
    mixed = np.zeros((1, 2, blocks), int)
    mixed[0, 0, :3] = 1
    mixed[0, :, 3::2] = 1
    found, alone = exchanged(table(mixed)), exchanged(table(mixed[:, :, :3]))
    assert (found.p_value, found.exact) == (alone.p_value, alone.exact) == (0.25, True)


@pytest.mark.parametrize("blocks", [66, 500])
def test_many_mixed_blocks_are_drawn_instead(table: Table, blocks: int) -> None:
    mixed = np.zeros((1, 2, blocks), int)
    mixed[0, 0] = 1
    found = exchanged(table(mixed), permutations=999)
    assert (found.p_value, found.exact) == (0.001, False)
