"""The jitter of a block."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rbench.design import Instance
from rbench.running.jitter import block_jitter
from rbench.scene import Jitter
from rbench.suites.suite import Protocol


def suite(seeds: Any = "shared", xy: float = 0.01, yaw: float = 20.0, objects: tuple[str, ...] = ("one", "two")) -> Any:
    """What the jitter needs of a suite."""
    scene = SimpleNamespace(objects=[SimpleNamespace(name=name) for name in objects])
    return SimpleNamespace(
        name="suite",
        protocol=Protocol(seeds=seeds, jitter_xy=xy, jitter_yaw=yaw),
        scenes={"scene": scene},
        task=lambda name: SimpleNamespace(scene="scene"),
    )


def instance(id: str = "color/red/base", context: str = "base", task: str = "task") -> Instance:
    dimension = id.partition("/")[0]
    return Instance(id=id, task=task, dimension=dimension, context=context, levels={}, repeats=5)


HERE = block_jitter(suite(), instance(), 0, 0)


def test_every_level_and_dimension_of_a_block_has_the_same_jitter() -> None:
    assert block_jitter(suite(), instance("color/blue/base"), 0, 0) == HERE
    assert block_jitter(suite(), instance("shape/cube/base"), 0, 0) == HERE


@pytest.mark.parametrize(
    "other",
    [
        block_jitter(suite(), instance(), 1, 0),
        block_jitter(suite(), instance(), 0, 1),
        block_jitter(suite(), instance(context="position-p1"), 0, 0),
        block_jitter(suite(), instance(task="another"), 0, 0),
    ],
    ids=["repeat", "seed", "context", "task"],
)
def test_another_block_has_another_jitter(other: dict[str, Jitter]) -> None:
    assert other["one"].x != HERE["one"].x


def test_independent_seeds_give_every_instance_its_own() -> None:
    a = block_jitter(suite("independent"), instance("color/red/base"), 0, 0)
    b = block_jitter(suite("independent"), instance("color/blue/base"), 0, 0)
    assert a != b


def test_objects_have_jitters_of_their_own_in_the_order_of_the_scene() -> None:
    assert list(HERE) == ["one", "two"]
    assert HERE["one"] != HERE["two"]


def test_the_jitter_fills_its_range_and_does_not_leave_it() -> None:
    found = [block_jitter(suite(), instance(), repeat, 0)["one"] for repeat in range(2000)]
    for values, half in (([j.x for j in found], 0.01), ([j.y for j in found], 0.01), ([j.yaw for j in found], 20.0)):
        assert -half <= min(values) < -0.98 * half
        assert 0.98 * half < max(values) <= half
        assert abs(sum(values) / len(values)) < 0.05 * half


def test_no_jitter_moves_nothing() -> None:
    assert block_jitter(suite(xy=0.0, yaw=0.0), instance(), 0, 0)["one"] == Jitter()


def test_the_numbers_stay_what_they_are() -> None:
    # Recorded runs can be replayed only as long as these do not change.
    one = HERE["one"]
    recorded = [-6.131615315433381e-05, -0.006018832351604051, -14.336626515396581]
    assert [one.x, one.y, one.yaw] == pytest.approx(recorded, abs=1e-15)
