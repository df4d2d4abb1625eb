"""Plan order: every episode once, repeats first, every prefix a fair sample."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tracemalloc
from collections import Counter
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from rbench.design import Context, Dimension, Level
from rbench.errors import UsageError
from rbench.plugins.catalog import Catalog
from rbench.running.plan import Plan, Selection
from rbench.suites.loading import load_suite
from rbench.suites.suite import Preset, Protocol, Suite, SuiteFactor


def synthetic(
    visual: dict[str, int],
    *,
    contexts: int = 3,
    grids: dict[str, tuple[str, str]] | None = None,
    tasks: int = 1,
    repeats: int = 2,
    grid_repeats: int = 4,
) -> Suite:
    """A suite of that many levels, contexts and tasks; its samplers do nothing."""
    factors = {
        name: SuiteFactor(
            name=name,
            factor=SimpleNamespace(groups={}),  # type: ignore[arg-type]  # a plan applies no factor
            role="visual",
            baseline="default",
            levels=tuple(Level(f"v{i}", i) for i in range(count)),
            distribution="none",
            options={},
        )
        for name, count in visual.items()
    }
    names = tuple(f"c{i}" for i in range(contexts))
    dimensions = [Dimension(name, {name: f.level_names}, names, repeats) for name, f in factors.items()]
    for a, b in (grids or {}).values():
        levels = {a: factors[a].level_names, b: factors[b].level_names}
        dimensions.append(Dimension(f"{a}+{b}", levels, ("base",), grid_repeats))
    values: dict[str, Any] = {
        "name": "synthetic",
        "hash": "",
        "source": "",
        "world": "mujoco",
        "render": "standard",
        "viewpoint_cameras": (),
        "extrinsics": "true",
        "metrics": (),
        "tasks": tuple(SimpleNamespace(name=f"t{i}") for i in range(tasks)),
        "scenes": {},
        "factors": factors,
        "contexts": tuple(Context(name, {}) for name in names),
        "dimensions": tuple(dimensions),
        "protocol": Protocol(repeats=repeats),
        "presets": {"few": Preset(contexts=("c0",), levels={"a": ("v0", "v1")}, repeats=1, grid=False)},
    }
    return Suite(**values)


SUITE = synthetic({"a": 9, "b": 4, "c": 2}, contexts=3, grids={"g": ("a", "b")})


def ids(selection: Selection | None = None, suite: Suite = SUITE) -> list[str]:
    return [episode.id for episode in Plan(suite, selection or Selection())]


def random_suite(seed: int) -> Suite:
    pick = random.Random(seed)
    return synthetic(
        {name: pick.randint(1, 12) for name in "abcd"[: pick.randint(2, 4)]},
        contexts=pick.randint(1, 7),
        tasks=pick.randint(1, 3),
        repeats=pick.randint(1, 3),
        grid_repeats=pick.randint(1, 4),
        grids={"g": ("a", "b")} if pick.random() < 0.7 else None,
    )


@pytest.mark.parametrize("seed", range(40))
def test_every_episode_is_planned_exactly_once(seed: int) -> None:
    suite = random_suite(seed)
    plan = Plan(suite, Selection())
    planned = Counter(episode.id for episode in plan)
    assert max(planned.values()) == 1
    assert len(planned) == plan.count == suite.episodes()


@pytest.mark.parametrize("seed", range(40))
def test_counts_are_those_of_the_episodes_at_any_limit(seed: int) -> None:
    suite = random_suite(seed)
    for limit in (1, 2, 7, 30, suite.episodes() - 1, suite.episodes(), suite.episodes() + 9):
        if limit:
            plan = Plan(suite, Selection(limit=limit))
            assert plan.counts == Counter(episode.instance.dimension for episode in plan)
            assert plan.count == min(limit, suite.episodes())


def test_a_limit_takes_a_prefix() -> None:
    assert ids(Selection(limit=17)) == ids()[:17]


def test_all_of_a_repeat_comes_before_the_next() -> None:
    repeats = [episode.repeat for episode in Plan(SUITE, Selection())]
    assert repeats == sorted(repeats)


def test_dimensions_take_turns() -> None:
    first = [episode.instance.dimension for episode in Plan(SUITE, Selection(limit=8))]
    assert first == ["a", "b", "c", "a+b"] * 2


@pytest.mark.parametrize("seed", range(30))
def test_any_prefix_uses_levels_contexts_and_tasks_equally_often(seed: int) -> None:
    suite = random_suite(seed)
    for dimension in suite.dimensions:
        plan = Plan(suite, Selection(dimensions=(dimension.name,), repeats=1))
        uses = [Counter[str](), Counter[str](), *(Counter[str]() for _ in dimension.levels)]
        sizes = [len(suite.tasks), len(dimension.contexts), *(len(levels) for levels in dimension.levels.values())]
        for episode in plan:
            instance = episode.instance
            keys = [instance.task, instance.context, *(instance.levels[name] for name in dimension.levels)]
            for count, key, size in zip(uses, keys, sizes, strict=True):
                count[key] += 1
                least = min(count.values()) if len(count) == size else 0
                assert max(count.values()) - least <= 1


def test_the_first_levels_are_spread_over_all() -> None:
    suite = synthetic({"a": 100}, contexts=1)
    first = [int(e.instance.levels["a"][1:]) for e in Plan(suite, Selection(limit=8))]
    gaps = [b - a for a, b in zip(sorted(first), [*sorted(first)[1:], 100 + min(first)], strict=True)]
    assert max(gaps) <= 25


def test_levels_written_as_a_grid_do_not_walk_in_time_with_the_contexts() -> None:
    # 3 x 3 levels, row by row, and 3 contexts: after 9 steps no column is tied to one context.
    suite = synthetic({"a": 9}, contexts=3)
    seen: dict[int, set[str]] = {}
    for episode in Plan(suite, Selection(limit=9)):
        seen.setdefault(int(episode.instance.levels["a"][1:]) % 3, set()).add(episode.instance.context)
    assert all(len(contexts) > 1 for contexts in seen.values())


def test_dimensions_can_be_chosen_grids_too() -> None:
    plan = Plan(SUITE, Selection(dimensions=("b", "a+b")))
    assert plan.counts == {"b": 4 * 3 * 2, "a+b": 36 * 4}


def test_repeats_are_overridden_for_the_grid_too() -> None:
    assert Plan(SUITE, Selection(repeats=3)).counts == {"a": 81, "b": 36, "c": 18, "a+b": 108}


def test_a_preset_is_narrowed_by_the_other_choices() -> None:
    assert Plan(SUITE, Selection(preset="few")).counts == {"a": 2, "b": 4, "c": 2}
    assert Plan(SUITE, Selection(preset="few", dimensions=("a",), repeats=5)).counts == {"a": 10}


def test_a_grid_that_is_named_is_run_though_the_preset_leaves_grids_out() -> None:
    assert Plan(SUITE, Selection(preset="few", dimensions=("a+b",))).counts == {"a+b": 2 * 4}


def test_instances_are_chosen_by_patterns() -> None:
    chosen = ids(Selection(instances=("a/v3/*", "b/v?/c0")))
    assert {id.rpartition("#")[0] for id in chosen} == {
        *(f"a/v3/c{i}" for i in range(3)),
        *(f"b/v{i}/c0" for i in range(4)),
    }
    assert len(chosen) == len(set(chosen)) == 7 * 2


def test_patterns_keep_the_order_of_the_plan() -> None:
    chosen = ids(Selection(instances=("*/c1",)))
    assert chosen == sorted(chosen, key=lambda id: int(id.rpartition("#")[2]))
    assert Plan(SUITE, Selection(instances=("*/c1",))).counts == {"a": 18, "b": 8, "c": 4}


def test_a_limit_counts_after_the_patterns() -> None:
    plan = Plan(SUITE, Selection(instances=("a/v3/*", "b/v1/c0"), limit=3))
    assert len(list(plan)) == plan.count == 3
    assert plan.counts == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        (Selection(dimensions=("aa",)), "no dimension 'aa'"),
        (Selection(dimensions=("c+b",)), "no dimension 'c\\+b'"),
        (Selection(preset="fwe"), "no preset 'fwe'. Did you mean 'few'"),
        (Selection(instances=("a/v3/c0", "x/*")), "matches 'x/\\*'"),
        (Selection(instances=("a/v33/c0",)), "a has no level 'v33' there"),
        (Selection(instances=("a/v3/c0",), dimensions=("b",)), "selected part of suite 'synthetic' matches"),
        (Selection(limit=0), "a limit of 0"),
        (Selection(repeats=0), "0 repeats"),
    ],
)
def test_a_selection_of_nothing_is_wrong_use(selection: Selection, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Plan(SUITE, selection)


def test_a_plan_can_be_walked_again() -> None:
    plan = Plan(SUITE, Selection(limit=20))
    assert [e.id for e in plan] == [e.id for e in plan]


def test_the_design_of_a_plan_is_what_it_runs() -> None:
    design = Plan(SUITE, Selection(preset="few", limit=2)).design
    assert [(d.name, d.cells, d.contexts) for d in design.dimensions] == [("a", 2, ("c0",)), ("b", 4, ("c0",))]
    assert design.planned == {"a": 1, "b": 1}


def test_a_million_instances_take_no_room_and_are_counted_at_once() -> None:
    suite = synthetic({"a": 1000, "b": 10}, contexts=1000, repeats=5)
    tracemalloc.start()
    try:
        plan = Plan(suite, Selection())
        assert plan.count == 5 * 1_010_000
        assert len({episode.id for episode in islice(plan, 1000)}) == 1000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


PROGRAM = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("plan_test_file", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print("\\n".join(module.ids()))
"""


def test_the_order_does_not_depend_on_python_s_own_hashing() -> None:
    orders = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, __file__],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert orders[0] == orders[1] == ids()


@pytest.mark.parametrize("limit", [None, 3, 10**9])
def test_counts_are_arithmetic_however_many_repeats(limit: int | None, catalog: Catalog) -> None:
    plan = Plan(load_suite(catalog, "roboview-bias"), Selection(repeats=10**12, limit=limit))
    assert plan.count == (2127 * 10**12 if limit is None else limit)
    if limit == 3:
        assert len(list(plan)) == 3
