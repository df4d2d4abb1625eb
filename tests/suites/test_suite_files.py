"""What a suite file becomes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.contributions import SuiteContribution
from rbench.errors import PluginError, SuiteError, UsageError
from rbench.plugins.catalog import Catalog
from rbench.plugins.discovery import FoundPlugin
from rbench.plugins.loading import LoadedPlugin
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.tasks.task import Condition, Subtask

Load = Callable[[str], Suite]


def test_dimensions_are_the_visual_factors_in_order_then_the_grids(small: str, load: Load) -> None:
    suite = load(small)
    assert [(d.name, d.cells, len(d.contexts), d.repeats) for d in suite.dimensions] == [
        ("paint", 3, 5, 2),
        ("zoom", 2, 5, 2),
        ("zoom+paint", 4, 1, 4),
    ]


def test_instances_and_episodes_are_counted_by_arithmetic(small: str, load: Load) -> None:
    suite = load(small)
    assert suite.instances() == 3 * 5 + 2 * 5 + 4
    assert suite.episodes() == (3 * 5 + 2 * 5) * 2 + 4 * 4


def test_a_grid_takes_all_levels_and_the_repeats_of_the_protocol_by_default(small: str, load: Load) -> None:
    text = small.replace('levels = { paint = ["red", "blue"] }\ncontext = "base"\nrepeats = 4', "")
    grid = load(text).dimension("zoom+paint")
    assert grid.levels == {"zoom": ("near", "far"), "paint": ("red", "green", "blue")}
    assert (grid.contexts, grid.repeats) == (("base",), 2)


def test_a_subtask_named_after_a_predicate_takes_the_arguments_of_the_goal(small: str, load: Load) -> None:
    both = {"object": "geometry", "container": "box"}
    assert load(small).tasks[0].subtasks == (
        Subtask("grasped", (Condition("grasped", {"object": "geometry"}),)),
        Subtask("in_box", (Condition("in_box", both),)),
    )


def test_a_subtask_can_be_written_out(small: str, load: Load) -> None:
    written = '{ name = "second", when = [{ lifted = "marker" }, { grasped = { object = "marker" } }] }'
    subtask = load(small.replace('"in_box"]', f"{written}]")).tasks[0].subtasks[1]
    it = {"object": "marker"}
    assert subtask == Subtask("second", (Condition("lifted", it), Condition("grasped", it)))


def test_options_hold_their_defaults(small: str, load: Load) -> None:
    suite = load(small.replace('options = { object = "geometry" }', ""))
    assert suite.factors["paint"].options == {"object": "geometry"}
    assert suite.factors["paint"].distribution == "suite-test-factors"


def test_a_baseline_that_is_no_level_has_no_value(small: str, load: Load) -> None:
    zoom = load(small).factors["zoom"]
    assert zoom.level("default").value is None
    assert not zoom.changes("default")
    assert zoom.changes("near")


def test_an_unknown_level_is_an_error_with_near_names(small: str, load: Load) -> None:
    with pytest.raises(UsageError, match=r"no level 'gren'\. Did you mean 'green'"):
        load(small).factors["paint"].level("gren")


@pytest.mark.parametrize("name", ["dimension", "task", "factor", "context"])
def test_asking_for_what_a_suite_lacks_names_what_it_has(small: str, load: Load, name: str) -> None:
    with pytest.raises(UsageError, match=f"suite 'small' has no {name} 'pain'"):
        getattr(load(small), name)("pain")


def test_the_source_loads_the_same_suite_from_anywhere(
    small: str, suite_file: Callable[[str], Path], catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = suite_file(small)
    monkeypatch.chdir(path.parent)
    suite = load_suite(catalog, "suite.toml")
    monkeypatch.chdir("/")
    assert load_suite(catalog, suite.source).hash == suite.hash


def test_a_scene_path_starts_at_the_suite_file(small: str, suite_file: Callable[[str], Path], catalog: Catalog) -> None:
    path = suite_file(small.replace('"tiny.toml"', '"scenes/tiny.toml"'))
    (path.parent / "scenes").mkdir()
    (path.parent / "tiny.toml").rename(path.parent / "scenes" / "tiny.toml")
    assert load_suite(catalog, str(path)).scenes["scenes/tiny.toml"].name == "tiny"


def test_a_preset_count_is_spread_over_the_names(small: str, load: Load) -> None:
    suite = load(small)
    assert suite.presets["quick"].contexts == ("place-p1", "place-p3")
    assert suite.presets["quick"].levels == {"paint": ("red", "blue")}


@pytest.fixture
def with_suite(
    catalog: Catalog, suite_file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str], Catalog]:
    """A catalog in which a package contributes a suite of that text under the name `small`."""

    def contribute(text: str) -> Catalog:
        file = suite_file(text)
        package = tmp_path / "a_suite_package"
        package.mkdir()
        (package / "__init__.py").write_text("")
        for name in ("suite.toml", "tiny.toml"):
            shutil.move(file.parent / name, package / name)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "a_suite_package", raising=False)
        record = SuiteContribution(name="small", summary="A suite.", target="a_suite_package:suite.toml")
        plugin = LoadedPlugin(FoundPlugin("small-suite", "1.0", "plugin", "a_suite_package"), "ok", (record,))
        return Catalog([*catalog._plugins, plugin])

    return contribute


def test_a_plugin_contributes_a_suite_with_its_own_scene(small: str, with_suite: Callable[[str], Catalog]) -> None:
    suite = load_suite(with_suite(small), "small")
    assert suite.source == "small-suite/small"
    assert suite.scenes["tiny.toml"].name == "tiny"


def test_an_error_in_a_contributed_suite_names_its_file(small: str, with_suite: Callable[[str], Catalog]) -> None:
    with pytest.raises(SuiteError, match=r"a_suite_package.suite\.toml, line 3: redner"):
        load_suite(with_suite(small.replace("render", "redner")), "small")


def test_a_contributed_suite_must_bear_the_name_of_its_contribution(
    small: str, with_suite: Callable[[str], Catalog]
) -> None:
    with pytest.raises(PluginError, match="calls itself 'large'"):
        load_suite(with_suite(small.replace('"small"', '"large"')), "small")
