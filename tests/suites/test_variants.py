"""Instances: ids, levels, and the scenes they stand for."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import islice

import pytest

from rbench.design import Instance
from rbench.errors import UsageError
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager

Load = Callable[[str], Suite]


@pytest.fixture
def suite(small: str, load: Load) -> Suite:
    return load(small)


@pytest.fixture
def manager(suite: Suite) -> RecursiveVariantTaskManager:
    return RecursiveVariantTaskManager(suite)


@pytest.fixture
def two_tasks(small: str, load: Load) -> Suite:
    """A suite in which the second task is to lift the marker."""
    lift = '[[tasks]]\nname = "lift"\nscene = "tiny.toml"\ngoal = [{ lifted = "marker" }]\nlimit = 5.0\n\n'
    return load(small.replace("[factors.paint]", lift + "[factors.paint]"))


def test_every_instance_is_there_once(suite: Suite, manager: RecursiveVariantTaskManager) -> None:
    ids = [instance.id for instance in manager.instances()]
    assert len(ids) == len(set(ids)) == suite.instances()


def test_ids_read_dimension_level_context(manager: RecursiveVariantTaskManager) -> None:
    ids = [instance.id for instance in manager.instances()]
    assert ids[:2] == ["paint/red/place-p1", "paint/red/place-p2"]
    assert ids[-4:] == [
        "zoom+paint/near+red/base",
        "zoom+paint/near+blue/base",
        "zoom+paint/far+red/base",
        "zoom+paint/far+blue/base",
    ]


def test_an_instance_names_the_level_of_every_factor(manager: RecursiveVariantTaskManager) -> None:
    assert manager.instance("paint/blue/place-p2") == Instance(
        id="paint/blue/place-p2",
        task="put-in",
        dimension="paint",
        context="place-p2",
        levels={"paint": "blue", "zoom": "default", "place": "p2", "words": "i1"},
        repeats=2,
    )


def test_every_id_leads_back_to_its_instance(manager: RecursiveVariantTaskManager, two_tasks: Suite) -> None:
    for each in (manager, RecursiveVariantTaskManager(two_tasks)):
        for instance in each.instances():
            assert each.instance(instance.id) == instance


@pytest.mark.parametrize(
    ("id", "reason"),
    [
        ("paint/red", "form DIMENSION/LEVEL/CONTEXT"),
        ("put-in/paint/red/place-p1", "form DIMENSION/LEVEL/CONTEXT"),
        ("pant/red/place-p1", "no dimension 'pant'. Did you mean 'paint'"),
        ("paint/rad/place-p1", "paint has no level 'rad' there. Did you mean 'red'"),
        ("paint/red+blue/place-p1", "takes 1 level"),
        ("paint/red/place-p9", "no context 'place-p9'"),
        ("zoom+paint/near+green/base", "paint has no level 'green' there"),
        ("zoom+paint/near/base", r"takes 2 level"),
        ("zoom+paint/near+red/place-p1", "no context 'place-p1'"),
    ],
)
def test_an_id_that_is_none_is_told_which_part_is_wrong(
    manager: RecursiveVariantTaskManager, id: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        manager.instance(id)


def test_with_several_tasks_ids_begin_with_the_task(two_tasks: Suite) -> None:
    ids = [instance.id for instance in RecursiveVariantTaskManager(two_tasks).instances()]
    assert len(ids) == len(set(ids)) == two_tasks.instances() == 2 * 29
    assert ids[0] == "put-in/paint/red/place-p1"
    assert ids[-1] == "lift/zoom+paint/far+blue/base"


def test_an_id_without_its_task_is_refused_when_there_are_several(two_tasks: Suite) -> None:
    with pytest.raises(UsageError, match="form TASK/DIMENSION/LEVEL/CONTEXT"):
        RecursiveVariantTaskManager(two_tasks).instance("paint/red/place-p1")


def test_a_level_is_applied_and_baselines_among_the_levels_too(manager: RecursiveVariantTaskManager) -> None:
    scene = manager.setup(manager.instance("zoom/far/place-p2")).scene
    assert scene.object("geometry").color == (255, 0, 0)  # the scene has another red
    assert scene.object("geometry").pose.position == (0.35, 0.0, 0.02)
    assert scene.camera("front").fovy == 60.0


def test_a_baseline_outside_the_levels_changes_nothing(manager: RecursiveVariantTaskManager) -> None:
    scene = manager.setup(manager.instance("paint/blue/place-p2")).scene
    assert scene.camera("front").fovy == 45.0


def test_context_factors_come_before_visual_ones(manager: RecursiveVariantTaskManager) -> None:
    # The words say which colour the object has when they are chosen: the scene's, not the paint's.
    assert "(200, 30, 30)" in manager.setup(manager.instance("paint/blue/words-i2")).instruction


def test_viewpoint_cameras_are_marked_before_factors_see_them(manager: RecursiveVariantTaskManager) -> None:
    scene = manager.setup(manager.instance("zoom/far/place-p1")).scene
    assert [(camera.name, camera.viewpoint, camera.fovy) for camera in scene.cameras] == [
        ("front", True, 60.0),
        ("wrist", False, 45.0),
    ]


def test_a_setup_is_a_value_that_later_ones_do_not_touch(manager: RecursiveVariantTaskManager) -> None:
    red = manager.instance("paint/red/place-p1")
    before = manager.setup(red)
    manager.setup(manager.instance("paint/blue/place-p2"))
    assert manager.setup(red) == before


def test_values_hold_the_value_of_every_factor(manager: RecursiveVariantTaskManager) -> None:
    assert manager.values(manager.instance("paint/blue/words-i2")) == {
        "paint": [0, 0, 255],
        "zoom": None,
        "place": [0.45, 0.1],
        "words": "Into the box goes the object.",
    }


def test_tasks_have_their_own_goal_and_the_factors_in_common(two_tasks: Suite) -> None:
    manager = RecursiveVariantTaskManager(two_tasks)
    setup = manager.setup(manager.instance("lift/paint/blue/place-p2"))
    assert setup.scene.object("geometry").color == (0, 0, 255)
    assert two_tasks.task("lift").goal[0].arguments == {"object": "marker"}


def test_the_design_tells_metrics_what_they_need(suite: Suite, manager: RecursiveVariantTaskManager) -> None:
    design = manager.design({"paint": 6})
    assert design.suite == "small"
    assert design.dimensions == suite.dimensions
    assert [context.name for context in design.contexts] == [*(c.name for c in suite.contexts), "base"]
    assert design.baselines == {"paint": "red", "zoom": "default", "place": "p1", "words": "i1"}
    assert (design.seeds, design.planned) == ("shared", {"paint": 6})


def test_the_design_of_a_part_has_only_its_contexts(suite: Suite, manager: RecursiveVariantTaskManager) -> None:
    design = manager.design({}, [suite.dimension("zoom+paint")])
    assert [context.name for context in design.contexts] == ["base"]


def test_a_million_instances_take_no_room(small: str, load: Load) -> None:
    text = small[: small.index("[[interactions]]")].replace('multiplicity = "paper"', "")
    for name in ("paint", "place"):
        text = text.replace(f'use = "{name}"', 'use = "many"').replace('options = { object = "geometry" }', "")
    text = text.replace('baseline = "red"', 'baseline = "n0"').replace('baseline = "p1"', 'baseline = "n0"')
    suite = load(text)
    manager = RecursiveVariantTaskManager(suite)
    assert suite.instances() == (1000 + 2) * (1000 + 1)
    tracemalloc.start()
    try:
        first = [instance.id for instance in islice(manager.instances(), 3)]
        for _ in islice(manager.instances(), 20_000):
            pass
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
    assert first == ["paint/n0/base", "paint/n0/place-n1", "paint/n0/place-n2"]
    assert manager.instance("paint/n999/place-n998").levels["place"] == "n998"
