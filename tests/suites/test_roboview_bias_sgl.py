"""The mitigation study of RoboView-Bias: colour and instruction are varied, with or without a grounding layer."""

from __future__ import annotations

import pytest

from rbench.plugins.catalog import build_catalog
from rbench.suites.loading import load_suite
from rbench.suites.presets import narrowed
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(build_catalog(), "roboview-bias-sgl")


def test_colour_and_instruction_are_its_dimensions(suite: Suite) -> None:
    counts = {d.name: suite.instances([d]) for d in suite.dimensions}
    assert counts == {"color": 141 * 8, "instruction": 3 * 8, "instruction+color": 3 * 7}
    assert suite.episodes() == (1128 + 24) * 5 + 21 * 10


def test_the_instruction_is_no_context(suite: Suite) -> None:
    names = [context.name for context in suite.contexts]
    assert names == [
        *(f"position-p{n}" for n in range(1, 5)),
        "shape-cube",
        "shape-cylinder",
        "shape-pyramid",
        "shape-prism",
    ]


def test_quick_is_135_episodes(suite: Suite) -> None:
    assert suite.episodes(narrowed(suite, preset="quick")) == 135


def test_a_level_of_the_instruction_is_what_the_agent_is_told(suite: Suite) -> None:
    manager = RecursiveVariantTaskManager(suite)
    told = {manager.setup(manager.instance(f"instruction/{i}/position-p2")).instruction for i in ("i1", "i2", "i3")}
    assert len(told) == 3
    assert manager.setup(manager.instance("color/teal/position-p2")).instruction in told


def test_what_stands_on_the_table_is_that_of_roboview_bias(suite: Suite) -> None:
    mine, theirs = (RecursiveVariantTaskManager(s) for s in (suite, load_suite(build_catalog(), "roboview-bias")))
    for id in ("color/teal/position-p2", "color/crimson/shape-prism"):
        ours, other = mine.setup(mine.instance(id)), theirs.setup(theirs.instance(id))
        assert ours.scene.objects == other.scene.objects
        assert ours.instruction == other.instruction
