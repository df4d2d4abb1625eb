"""RoboView-Bias with its real samplers: the paper's counts, and the scenes they stand for."""

from __future__ import annotations

import pytest

from rbench.errors import UsageError
from rbench.plugins.catalog import build_catalog
from rbench.suites.loading import load_suite
from rbench.suites.presets import narrowed
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(build_catalog(), "roboview-bias")


@pytest.fixture(scope="module")
def manager(suite: Suite) -> RecursiveVariantTaskManager:
    return RecursiveVariantTaskManager(suite)


def test_the_counts_are_those_of_the_paper(suite: Suite) -> None:
    assert {d.name: suite.instances([d]) for d in suite.dimensions} == {
        "color": 1551,
        "camera-pose": 231,
        "camera-euler": 99,
        "camera-distance": 99,
        "camera-pose+color": 147,
    }
    assert suite.instances() == 2127
    assert suite.episodes() == 11_370


def test_all_ids_differ(manager: RecursiveVariantTaskManager) -> None:
    assert len({instance.id for instance in manager.instances()}) == 2127


def test_every_id_leads_back_to_its_instance(manager: RecursiveVariantTaskManager) -> None:
    assert all(manager.instance(instance.id) == instance for instance in manager.instances())


@pytest.mark.parametrize(
    "id",
    [
        "color/crimson/position-p2",
        "camera-pose+color/r2a4+red/base",
        "camera-euler/yaw-6_pitch6/shape-prism",
        "camera-distance/d0.05/instruction-i3",
    ],
)
def test_ids_read_as_they_are_written_down(manager: RecursiveVariantTaskManager, id: str) -> None:
    assert manager.instance(id).id == id


def test_there_are_eleven_contexts_of_which_three_are_the_baseline(suite: Suite) -> None:
    base = suite.context("base").levels
    same = [context.name for context in suite.contexts if context.levels == base]
    assert len(suite.contexts) == 11
    assert same == ["position-p1", "shape-cube", "instruction-i1"]


def test_its_scenes_are_as_many_as_the_design_says(manager: RecursiveVariantTaskManager) -> None:
    # 9 x 180 cells; the red default view is in three dimensions (-18); 126 new grid cells; aqua is cyan and
    # fuchsia is magenta (-18).
    setups = {(setup.scene, setup.instruction) for setup in map(manager.setup, manager.instances())}
    assert len(setups) == 9 * 180 - 18 + 126 - 18


def test_the_baseline_is_the_same_scene_in_every_dimension_that_has_it(manager: RecursiveVariantTaskManager) -> None:
    ids = ("color/red/shape-cube", "camera-euler/yaw0_pitch0/position-p1", "camera-distance/d0.00/instruction-i1")
    assert len({manager.setup(manager.instance(id)).scene for id in ids}) == 1


def test_only_the_viewpoint_cameras_move(manager: RecursiveVariantTaskManager) -> None:
    base = manager.setup(manager.instance("color/red/position-p1")).scene
    for id in (
        "camera-pose/r2a4/position-p1",
        "camera-euler/yaw-6_pitch6/position-p1",
        "camera-distance/d0.40/shape-cube",
    ):
        moved = manager.setup(manager.instance(id)).scene
        changed = {c.name for c in base.cameras if moved.camera(c.name).pose != c.pose}
        assert changed == {"front", "left_top"}, id


def test_the_quick_preset_is_about_230_episodes(suite: Suite) -> None:
    quick = narrowed(suite, preset="quick")
    assert {d.name: d.cells for d in quick} == {
        "color": 12,
        "camera-pose": 9,
        "camera-euler": 9,
        "camera-distance": 9,
    }
    assert suite.episodes(quick) == 234


def test_the_full_preset_is_all_of_it(suite: Suite) -> None:
    assert narrowed(suite, preset="full") == suite.dimensions


def test_a_misspelt_colour_is_told_what_is_near(manager: RecursiveVariantTaskManager) -> None:
    with pytest.raises(UsageError, match=r"color has no level 'crimsn' there\. Did you mean 'crimson'"):
        manager.instance("color/crimsn/position-p1")


def test_the_task_is_to_put_it_in_the_box(suite: Suite) -> None:
    task = suite.tasks[0]
    assert (task.name, task.hold, task.limit) == ("geometry-in-box", 0.2, 15.0)
    assert [c.predicate for c in task.goal] == ["in_container", "released", "at_rest"]
    assert [s.name for s in task.subtasks] == ["grasped", "in_box"]
