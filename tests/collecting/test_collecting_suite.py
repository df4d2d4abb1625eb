"""The suite that demonstrations are collected in, as a file."""

from __future__ import annotations

import importlib.resources
from dataclasses import replace
from pathlib import Path

import pytest

from rbench.collecting.collecting_suite import pattern_of, write_collecting_suite
from rbench.errors import UsageError
from rbench.plugins.catalog import Catalog
from rbench.running.plan import Plan, Selection
from rbench.seeding import block_seed
from rbench.suites.loading import load_suite

SMALL = Path(__file__).resolve().parent / "data/small.toml"


@pytest.mark.parametrize("name", ["roboview-bias", "roboview-bias-sgl"])
def test_every_built_in_suite_has_one(catalog: Catalog, tmp_path: Path, name: str) -> None:
    suite = load_suite(catalog, name)
    write_collecting_suite(catalog, suite, tmp_path / "suite.toml", None, None)
    run = load_suite(catalog, str(tmp_path / "suite.toml"))
    plan = Plan(run, Selection(instances=(pattern_of(run),), limit=350))
    episodes = list(plan)
    assert plan.count == len(episodes) == len({episode.id for episode in episodes}) == 350
    for episode in episodes:
        for factor in run.factors.values():
            if factor.role == "visual":
                assert episode.instance.levels[factor.name] == factor.baseline
    assert {episode.instance.context for episode in episodes} == {context.name for context in run.contexts}


def test_no_demonstration_shares_its_seeds_with_the_suite(catalog: Catalog, tmp_path: Path) -> None:
    suite = load_suite(catalog, str(SMALL))
    write_collecting_suite(catalog, suite, tmp_path / "suite.toml", None, None)
    run = load_suite(catalog, str(tmp_path / "suite.toml"))
    states = [block_seed(0, s.name, "geometry-in-box", "base", 0).generate_state(2).tolist() for s in (suite, run)]
    assert states[0] != states[1]


def test_a_scene_file_comes_along(catalog: Catalog, tmp_path: Path) -> None:
    scene = importlib.resources.files("rbench.suites").joinpath("scenes/tabletop.toml").read_text()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/kitchen.toml").write_text(scene.replace("mass = 0.06", "mass = 0.07"))
    text = SMALL.read_text().replace('scene = "tabletop"', 'scene = "kitchen.toml"')
    (tmp_path / "mine/suite.toml").write_text(text)
    suite = load_suite(catalog, str(tmp_path / "mine/suite.toml"))
    write_collecting_suite(catalog, suite, tmp_path / "demos/suite.toml", None, None)
    (tmp_path / "mine/kitchen.toml").unlink()
    run = load_suite(catalog, str(tmp_path / "demos/suite.toml"))
    (scene_of_run,) = run.scenes.values()
    assert scene_of_run.objects[0].mass == 0.07


def test_words_survive_the_way_through_the_file(catalog: Catalog, tmp_path: Path) -> None:
    suite = load_suite(catalog, str(SMALL))
    write_collecting_suite(catalog, suite, tmp_path / "suite.toml", None, None)
    levels = load_suite(catalog, str(tmp_path / "suite.toml")).factors["instruction"].levels
    assert [level.value for level in levels] == ['Put "it" into the box.', "The geometry should end up inside the box."]


def test_a_suite_without_an_instance_at_the_baseline_is_refused(catalog: Catalog) -> None:
    suite = load_suite(catalog, str(SMALL))
    factors = {name: factor for name, factor in suite.factors.items() if name != "color"}
    with pytest.raises(UsageError, match="has no instance with everything visual at its baseline"):
        pattern_of(replace(suite, factors=factors))
