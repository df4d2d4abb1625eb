"""A task has something to do wherever it begins: nothing moves, and its goal is not there yet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from rbench.interfaces.world import World
from rbench.plugins.catalog import Catalog
from rbench.running.jitter import block_jitter
from rbench.running.worker import build_world
from rbench.scene import jittered
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.tasks.monitor import TaskMonitor


@pytest.fixture(scope="module")
def suite(catalog: Catalog) -> Suite:
    return load_suite(catalog, "roboview-bias")


@pytest.fixture(scope="module")
def world(suite: Suite) -> Iterator[World]:
    world = build_world(suite)
    yield world
    world.close()


def test_in_every_context_the_object_lies_still_outside_the_box(suite: Suite, world: World) -> None:
    # Seen elsewhere: after an upgrade of the simulator a stored start no longer settled.
    manager = RecursiveVariantTaskManager(suite)
    dimension = next(dimension for dimension in suite.dimensions if dimension.name == "color")
    for task in suite.tasks:
        for context in dimension.contexts:
            cell = manager.cell(task, dimension, {"color": "red"}, context)
            setup = jittered(manager.setup(cell), block_jitter(suite, cell, 0, 0))
            world.reset(setup, control_rate=20, cameras={})
            monitor = TaskMonitor(task)
            monitor.update(world.state())
            *_, last = world.settle(1.0)
            monitor.update(last.state)
            assert not monitor.goal_holds
            assert not monitor.held_at_reset
            assert all(np.linalg.norm(body.linear_velocity) < 0.01 for body in last.state.bodies.values()), cell.id
