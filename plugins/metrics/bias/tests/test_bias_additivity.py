"""Interaction: floor of the IEC, additivity on the logit scale, variance components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rbench.errors import UsageError
from rbench_metric_bias.additivity import (
    additivity_of_cells,
    additivity_over_blocks,
    iec_floor,
    logit_components,
)
from rbench_metric_bias.bias import Bias, Options
from rbench_metric_bias.outcomes import OutcomeTable, tabulate

Simulate = Callable[..., OutcomeTable]
NAMES = ("camera-pose;color", "color;camera-pose")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def agents() -> dict[str, Any]:
    """Outcomes (poses, colours, repeats) of agents with logits pose + colour + jitter [+ interaction]."""
    found = {}
    for name, pose, color, both in (("none", 0, 0, 0), ("additive", 2.4, 0.7, 0), ("interacting", 1.0, 0.7, 1.0)):
        draw = rng(11)
        logits = pose * draw.normal(size=(21, 1, 1)) + color * draw.normal(size=(1, 7, 1))
        logits = logits + both * draw.normal(size=(21, 7, 1)) + draw.normal(size=(1, 1, 10))
        found[name] = (draw.random((21, 7, 10)) < 1 / (1 + np.exp(-logits))).astype(int)
        found[f"{name}, deterministic"] = (logits > 0).astype(int)
    return found


@pytest.fixture
def simulate(agents: dict[str, Any], study: Any) -> Simulate:
    def make(outcomes: Any, missing: Any = None) -> OutcomeTable:
        array = agents[outcomes] if isinstance(outcomes, str) else np.asarray(outcomes)
        records, design = study({"camera-pose+color": np.zeros((1, *array.shape[:2]), int)}, repeats=array.shape[2])
        table = tabulate(records, design)["camera-pose+color"]
        episodes = np.ones((1, *array.shape), int) if missing is None else 1 - np.asarray(missing)[None]
        successes = array[None] * episodes
        return OutcomeTable(
            table.dimension, table.places, table.levels, episodes, successes, successes * 1.0, np.array([True])
        )

    return make


@pytest.mark.parametrize("agent", ["none", "additive", "none, deterministic", "additive, deterministic"])
def test_an_additive_agent_is_additive(simulate: Simulate, agent: str) -> None:
    found = additivity_over_blocks(simulate(agent), 999, rng())
    assert found.p_value is None or found.p_value > 0.05


def test_an_additive_agent_can_have_a_large_iec_which_its_floor_explains(simulate: Simulate, study: Any) -> None:
    table = simulate("additive")
    floor = iec_floor(table, False, 299, rng(), 0.01, 0)
    records, design = study({"camera-pose+color": table.cell_successes}, repeats=10)
    (row,) = Bias(Options(bootstrap=99)).compute(records, design, "default").interactions
    iec = row["iec"]["color;camera-pose"]
    low, high = floor.interval["color;camera-pose"]  # type: ignore[misc]
    assert iec > 60
    assert low < iec < high


@pytest.mark.parametrize("agent", ["interacting", "interacting, deterministic"])
def test_an_interacting_agent_is_found(simulate: Simulate, agent: str) -> None:
    found = additivity_over_blocks(simulate(agent), 999, rng())
    assert found.method == "sign flips of blocks"
    assert found.p_value is not None
    assert found.p_value < 0.01


def test_few_blocks_are_tested_by_pairs(simulate: Simulate, agents: dict[str, Any]) -> None:
    found = additivity_over_blocks(simulate(agents["interacting"][..., :5]), 999, rng())
    assert found.method == "pairs of blocks"
    assert found.p_value is not None
    assert found.p_value < 0.05


@pytest.mark.parametrize("outcomes", ["three blocks", "never", "always"])
def test_what_cannot_be_tested_has_no_p(simulate: Simulate, agents: dict[str, Any], outcomes: str) -> None:
    y = {"three blocks": agents["none"][..., :3], "never": np.zeros((3, 3, 6)), "always": np.ones((3, 3, 6))}[outcomes]
    found = additivity_over_blocks(simulate(np.asarray(y, int)), 999, rng())
    assert (found.p_value, found.method) == (None, None)


def test_blocks_that_miss_a_cell_are_left_out(simulate: Simulate, agents: dict[str, Any]) -> None:
    missing = np.zeros((21, 7, 10), int)
    missing[3, 2, 9] = 1
    with_holes = additivity_over_blocks(simulate("interacting", missing), 999, rng())
    without = additivity_over_blocks(simulate(agents["interacting"][..., :9]), 999, rng())
    assert with_holes == without


def test_floor_without_any_effect_is_near_30_and_15(simulate: Simulate) -> None:
    floor = iec_floor(simulate("none"), False, 499, rng(), 0.01, 0)
    # Normal theory says 14.6 and 28.2; with 21 poses modulated by 7 colours, and 7 colours by 21 poses.
    assert floor.mean[NAMES[0]] == pytest.approx(15, abs=4)
    assert floor.mean[NAMES[1]] == pytest.approx(30, abs=5)


def test_floor_of_nothing_is_null(simulate: Simulate) -> None:
    for table in (simulate(np.zeros((2, 3, 4), int)), simulate(np.zeros((2, 3, 4), int), np.ones((2, 3, 4), int))):
        floor = iec_floor(table, False, 99, rng(), 0.01, 0)
        assert set(floor.mean.values()) == {None}
        assert set(logit_components(table).values()) == {None}


def test_floor_counts_only_the_episodes_that_are_there(simulate: Simulate) -> None:
    missing = np.zeros((21, 7, 10), int)
    missing[..., 3:] = 1
    full, few = (iec_floor(simulate("none", m), False, 199, rng(), 0.01, 0) for m in (None, missing))
    assert few.interval[NAMES[0]] != full.interval[NAMES[0]]


def test_components_find_their_truth(simulate: Simulate) -> None:
    found = logit_components(simulate("interacting"))
    assert list(found) == ["camera-pose", "color", "camera-pose x color", "block"]
    assert found["camera-pose"] == pytest.approx(1.0, abs=0.35)
    assert found["camera-pose x color"] == pytest.approx(1.0, abs=0.3)
    assert logit_components(simulate("additive"))["camera-pose x color"] < 0.35  # type: ignore[operator]


def test_pearson_for_independent_cells(study: Any) -> None:
    draw = rng(5)
    for both, low, high in ((0.0, 0.05, 1.0), (1.0, 0.0, 0.02)):
        logits = draw.normal(size=(9, 1)) + draw.normal(size=(1, 5)) + both * draw.normal(size=(9, 5))
        counts = draw.binomial(10, 1 / (1 + np.exp(-logits)))
        records, design = study({"camera-pose+color": counts[None]}, repeats=10)
        table = tabulate(records, design)["camera-pose+color"]
        found = additivity_of_cells(table, "independent", 99, draw)
        assert found.method == "Pearson"
        assert found.p_value is not None
        assert low < found.p_value <= high


def test_pearson_of_one_outcome_has_no_p(study: Any) -> None:
    records, design = study({"camera-pose+color": np.zeros((1, 3, 3), int)})
    table = tabulate(records, design)["camera-pose+color"]
    assert additivity_of_cells(table, "independent", 99, rng()).p_value is None


def test_pearson_is_refused_for_shared_seeds(simulate: Simulate) -> None:
    with pytest.raises(UsageError, match="Pearson additivity test"):
        additivity_of_cells(simulate("none"), "shared", 99, rng())
