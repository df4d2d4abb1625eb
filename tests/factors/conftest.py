"""The suite roboview-bias, and worlds that build its setups."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rbench.plugins.catalog import Catalog
from rbench.scene import Setup
from rbench.simulation.profiles import render_profile
from rbench.simulation.world import MujocoWorld
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager


@pytest.fixture(scope="session")
def suite(catalog: Catalog) -> Suite:
    return load_suite(catalog, "roboview-bias")


@pytest.fixture(scope="session")
def base(suite: Suite) -> Setup:
    """The setup in which every factor is at its baseline."""
    setup = RecursiveVariantTaskManager(suite).base_setup(suite.tasks[0])
    for factor in suite.factors.values():
        if factor.changes(factor.baseline):
            setup = factor.factor.apply(setup, factor.level(factor.baseline))
    return setup


def _world(profile: str) -> Iterator[MujocoWorld]:
    world = MujocoWorld(render_profile(profile))
    yield world
    world.close()


@pytest.fixture(scope="session")
def standard_world() -> Iterator[MujocoWorld]:
    """The world drawn as the suite asks."""
    yield from _world("standard")


@pytest.fixture(scope="session")
def fast_world() -> Iterator[MujocoWorld]:
    """The world drawn quickly, for masks and depth, which no profile changes."""
    yield from _world("fast")
