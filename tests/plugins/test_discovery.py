from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.plugins.discovery import FIRST_PARTY, FoundPlugin, PluginSelection, find_plugins

ROOT = Path(__file__).resolve().parents[2]
Install = Callable[..., Path]


def found(distribution: str, environ: dict[str, str] | None = None) -> list[FoundPlugin]:
    return [plugin for plugin in find_plugins(environ or {}) if plugin.distribution == distribution]


def test_a_plugin_is_found_without_being_imported(install: Install) -> None:
    install("fake-one", "raise RuntimeError('imported')", version="2.3")
    assert found("fake-one") == [FoundPlugin("fake-one", "2.3", "plugin", "fake_one")]
    assert "fake_one" not in sys.modules


def test_distribution_names_are_normalised(install: Install) -> None:
    install("Fake.Two_Words")
    assert [plugin.name for plugin in found("fake-two-words")] == ["fake-two-words:plugin"]


def test_the_same_entry_name_in_two_distributions_is_two_plugins(install: Install) -> None:
    install("fake-a")
    install("fake-b")
    assert {p.name for p in find_plugins({})} >= {"fake-a:plugin", "fake-b:plugin"}


def test_several_entry_points_of_one_distribution_are_several_plugins(install: Install) -> None:
    install("fake-one", entry_points="[other]\nx = y\n[rbench]\na = fake_one\nb = fake_one:thing [extra]\n")
    assert [(p.entry, p.target) for p in found("fake-one")] == [("a", "fake_one"), ("b", "fake_one:thing")]


def test_a_distribution_seen_twice_through_a_link_is_one(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = install("fake-one")
    (tmp_path / "link").symlink_to(site)
    monkeypatch.syspath_prepend(str(tmp_path / "link"))
    assert len(found("fake-one")) == 1


def test_of_two_versions_the_first_on_the_path_counts(install: Install) -> None:
    install("fake-one", version="1.0", folder="behind")
    install("fake-one", version="2.0", folder="before")
    assert [plugin.version for plugin in found("fake-one")] == ["2.0"]


def test_a_shadowed_distribution_with_an_entry_point_is_not_found(install: Install) -> None:
    install("fake-one", version="1.0", folder="behind")
    install("fake-one", version="2.0", folder="before", entry_points="[console_scripts]\n")
    assert found("fake-one") == []


@pytest.mark.parametrize(
    ("entry_points", "reason"),
    [
        ("[rbench]\nno equals sign\n", "metadata cannot be read"),
        ("[rbench]\na = fake_one\na = fake_two\n", "'a' is declared 2 times"),
    ],
)
def test_damaged_entry_points_cost_their_distribution_only(install: Install, entry_points: str, reason: str) -> None:
    install("fake-one", entry_points=entry_points)
    install("fake-two")
    assert all(reason in str(plugin.damaged) for plugin in found("fake-one"))
    assert found("fake-one")
    assert [plugin.damaged for plugin in found("fake-two")] == [None]


def test_entry_points_that_are_not_text_hide_nobody_else(install: Install) -> None:
    site = install("fake-one")
    (site / "fake_one-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[rbench]")
    install("fake-two")
    assert len(found("fake-two")) == 1


def test_a_distribution_without_metadata_is_shown_as_damaged(install: Install) -> None:
    site = install("fake-one")
    (site / "fake_one-1.0.dist-info" / "METADATA").unlink()
    (plugin,) = found("(unnamed)")
    assert str(site) in str(plugin.damaged)


@pytest.mark.parametrize(
    ("requirement", "reason"),
    [
        ("rbench>=99", "asks for rbench>=99, this is rbench"),
        ("RBench<0.0.1", "asks for rbench<0.0.1"),
        ("rbench >=> 1", "cannot be read"),
    ],
)
def test_a_distribution_that_asks_for_another_rbench_is_incompatible(
    install: Install, requirement: str, reason: str
) -> None:
    install("fake-one", requires=["numpy", requirement])
    (plugin,) = found("fake-one")
    assert reason in str(plugin.incompatible)


@pytest.mark.parametrize(
    "requirement",
    ["rbench", "rbench>=0.0.1", "rbench>=99; extra == 'dev'", "rbench>=99; python_version < '3'", "rbench-agent-x>=99"],
)
def test_other_requirements_are_compatible(install: Install, requirement: str) -> None:
    install("fake-one", requires=[requirement])
    assert [plugin.incompatible for plugin in found("fake-one")] == [None]


@pytest.mark.parametrize(
    ("value", "blocked"),
    [
        (None, set()),
        ("", {"one", "two"}),
        (" , ", {"one", "two"}),
        ("one", {"two"}),
        ("One, TWO", set()),
        ("-one", {"one"}),
        ("one,two,-two", {"two"}),
        ("-rbench-metric-bias", {"rbench-metric-bias"}),
        ("one,-rbench-metric-bias", {"two", "rbench-metric-bias"}),
    ],
)
def test_what_rbench_plugins_blocks(value: str | None, blocked: set[str]) -> None:
    selection = PluginSelection.parse(value)
    assert {name for name in ("one", "two", "rbench", "rbench-metric-bias") if selection.blocks(name)} == blocked


def test_blocking_reaches_the_found_plugins(install: Install) -> None:
    install("fake-one")
    assert [plugin.blocked for plugin in found("fake-one", {"RBENCH_PLUGINS": "-fake.one"})] == [True]
    assert [plugin.blocked for plugin in found("rbench", {"RBENCH_PLUGINS": ""})] == [False]


def test_the_first_party_distributions_are_those_of_this_repository() -> None:
    projects = [ROOT / "pyproject.toml", *ROOT.glob("plugins/*/*/pyproject.toml")]
    assert sorted(tomllib.loads(p.read_text())["project"]["name"] for p in projects) == sorted(FIRST_PARTY)
