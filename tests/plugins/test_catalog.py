from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.errors import PluginError, StartError, UsageError
from rbench.plugins.catalog import Catalog, build_catalog
from rbench.plugins.discovery import find_plugins
from rbench.plugins.loading import load_plugin

Install = Callable[..., Path]

HALF = """
from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl

@hookimpl
def rbench_agents():
    yield AgentContribution(name="half", summary="Half an agent.", target="m:A")
    raise RuntimeError("half way")
"""


def fake_rows(catalog: Catalog) -> list[dict[str, object]]:
    return [row for row in catalog.rows() if str(row["distribution"]).startswith("fake-")]


def test_a_row_has_the_documented_keys(install_agent: Install) -> None:
    install_agent("fake-one", "one", version="1.5")
    assert fake_rows(build_catalog({})) == [
        {
            "kind": "agent",
            "name": "one",
            "distribution": "fake-one",
            "version": "1.5",
            "status": "ok",
            "summary": "An agent.",
            "error": None,
            "needs": [],
        }
    ]


def test_a_plugin_that_did_not_load_is_one_row_without_a_kind(install: Install) -> None:
    install("fake-half", HALF)
    (row,) = fake_rows(build_catalog({}))
    assert row == {
        "kind": None,
        "name": "plugin",
        "distribution": "fake-half",
        "version": "1.0",
        "status": "broken",
        "summary": None,
        "error": "RuntimeError: half way",
        "needs": [],
    }


def test_rows_without_a_kind_come_last(install: Install) -> None:
    install("fake-half", HALF)
    without = [row["kind"] is None for row in build_catalog({}).rows()]
    assert without == sorted(without)


def test_a_half_registered_agent_is_gone_and_its_absence_is_explained(install: Install) -> None:
    install("fake-broken", HALF)
    catalog = build_catalog({})
    assert "half" not in {entry.name for entry in catalog.entries()}
    with pytest.raises(PluginError, match=r"'half' is not available.*fake-broken 1\.0 did not load: RuntimeError"):
        catalog.get("agent", "half")


def test_a_plugin_that_contributes_nothing_says_so(install: Install) -> None:
    install("fake-empty", "import rbench\n@rbench.hookimpl\ndef rbench_agents():\n    return []")
    (row,) = fake_rows(build_catalog({}))
    assert (row["kind"], row["status"], row["summary"]) == (None, "ok", "Contributes nothing.")


def test_the_built_in_suite_comes_from_rbench_itself() -> None:
    assert build_catalog({}).get("suite", "roboview-bias").qualified == "rbench/roboview-bias"


@pytest.mark.parametrize("order", [("fake-one", "fake-two"), ("fake-two", "fake-one")])
def test_a_name_shared_within_a_kind_is_an_error_that_names_both(
    install_agent: Install, order: tuple[str, str]
) -> None:
    for name in order:
        install_agent(name, "same", folder=name)
    catalog = build_catalog({})
    assert [(row["distribution"], row["status"]) for row in fake_rows(catalog)] == [
        ("fake-one", "conflict"),
        ("fake-two", "conflict"),
    ]
    with pytest.raises(
        UsageError, match=r"fake-one 1\.0 and fake-two 1\.0; write fake-one/same or fake-two/same"
    ) as problem:
        catalog.get("agent", "same")
    assert str(fake_rows(catalog)[0]["error"]) in str(problem.value)
    assert catalog.get("agent", "fake-two/same").distribution == "fake-two"
    assert catalog.get("agent", "Fake_One/same").distribution == "fake-one"


def test_load_order_never_matters(install: Install, install_agent: Install) -> None:
    install("fake-half", HALF)
    for name in ("fake-b", "fake-a", "fake-c"):
        install_agent(name, "same")
    plugins = [load_plugin(found) for found in find_plugins({})]
    assert Catalog(plugins).rows() == Catalog(reversed(plugins)).rows() == build_catalog({}).rows()
    assert Catalog(plugins).entries() == Catalog(reversed(plugins)).entries()


def test_nobody_replaces_a_built_in(install: Install) -> None:
    install(
        "fake-thief",
        "import rbench\n@rbench.hookimpl\ndef rbench_suites():\n"
        "    yield rbench.SuiteContribution(name='roboview-bias', summary='Mine.', target='fake_thief:x.toml')",
    )
    with pytest.raises(UsageError, match="fake-thief/roboview-bias or rbench/roboview-bias"):
        build_catalog({}).get("suite", "roboview-bias")


def test_one_distribution_that_brings_a_name_twice_is_not_resolved_by_its_qualified_name(install: Install) -> None:
    source = (
        "import rbench\nclass Hooks:\n    @rbench.hookimpl\n    def rbench_agents(self):\n"
        "        yield rbench.AgentContribution(name='same', summary='x', target='m:A')\na, b = Hooks(), Hooks()"
    )
    install("fake-one", source, entry_points="[rbench]\na = fake_one:a\nb = fake_one:b\n")
    with pytest.raises(UsageError, match="one distribution brings it twice"):
        build_catalog({}).get("agent", "fake-one/same")


@pytest.mark.parametrize("name", ["onee", "fake-one/onee", "fake-won/one"])
def test_an_unknown_name_is_refused_with_near_names(install_agent: Install, name: str) -> None:
    install_agent("fake-one", "one")
    with pytest.raises(UsageError, match=r"is not known\. Did you mean .*one'.*list-plugins"):
        build_catalog({"RBENCH_PLUGINS": "fake-one"}).get("agent", name)


def test_a_name_of_another_kind_is_pointed_out(install_agent: Install) -> None:
    install_agent("fake-one", "one")
    with pytest.raises(UsageError, match="That is the name of another kind: agent"):
        build_catalog({}).get("metric", "one")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="Did you mean 'agent'"):
        build_catalog({}).get("agents", "one")


@pytest.mark.parametrize(
    ("distribution", "name"), [("fake-agent-mop", "mop"), ("fake-x", "plugin"), ("fake-x", "fake-x/anything")]
)
def test_a_name_that_a_broken_plugin_may_bring_is_explained(install: Install, distribution: str, name: str) -> None:
    install(distribution, "import no_such_library", version="0.3")
    with pytest.raises(PluginError, match=rf"{distribution} 0\.3 did not load: ModuleNotFoundError"):
        build_catalog({}).get("agent", name)


def test_a_name_of_unknown_origin_mentions_the_plugins_that_did_not_load(install: Install) -> None:
    install("fake-x", "1 / 0")
    with pytest.raises(UsageError, match=r"'whatever' is not known\..*fake-x 1\.0 did not load: ZeroDivisionError"):
        build_catalog({}).get("agent", "whatever")


def test_blocked_and_incompatible_plugins_are_explained(install_agent: Install) -> None:
    install_agent("fake-agent-one", "one")
    install_agent("fake-agent-two", "two", requires=["rbench>=99"])
    with pytest.raises(PluginError, match="is blocked: left out by RBENCH_PLUGINS"):
        build_catalog({"RBENCH_PLUGINS": "-fake-agent-one"}).get("agent", "one")
    with pytest.raises(PluginError, match="is incompatible: it asks for rbench>=99"):
        build_catalog({}).get("agent", "two")


@pytest.mark.parametrize("value", ["1", "true"])
def test_strict_mode_makes_broken_plugins_fatal(install: Install, value: str) -> None:
    install("fake-x", "1 / 0")
    install("fake-y", requires=["rbench>=99"])
    with pytest.raises(PluginError, match=r"fake-x 1\.0 .*ZeroDivisionError.*fake-y 1\.0 .*rbench>=99") as problem:
        build_catalog({"RBENCH_STRICT_PLUGINS": value})
    assert problem.value.exit_code == 3
    assert isinstance(problem.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("value", ["", "0"])
def test_strict_mode_is_off_by_default(install: Install, value: str) -> None:
    install("fake-x", "1 / 0")
    assert fake_rows(build_catalog({"RBENCH_STRICT_PLUGINS": value}))


def test_strict_mode_leaves_blocked_plugins_alone(install: Install) -> None:
    install("fake-x", "1 / 0")
    catalog = build_catalog({"RBENCH_STRICT_PLUGINS": "1", "RBENCH_PLUGINS": "-fake-x"}, only=["fake-x"])
    assert [row["status"] for row in catalog.rows()] == ["blocked"]


def test_an_unknown_name_in_rbench_plugins_is_a_warning(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install("fake-one")
    with caplog.at_level(logging.WARNING):
        build_catalog({"RBENCH_PLUGINS": "fake-one,-fake-on"})
    assert "names 'fake-on', which is no installed plugin. Did you mean 'fake-one'?" in caplog.text


def test_a_worker_loads_only_the_distributions_it_names(install: Install, install_agent: Install) -> None:
    install_agent("fake-one", "one")
    install("fake-two", "raise SystemExit")
    catalog = build_catalog({}, only=["Fake_One", "rbench"])
    assert {row["distribution"] for row in catalog.rows()} == {"fake-one", "rbench"}


def test_missing_needs_are_listed_without_importing_them(install: Install, tmp_path: Path) -> None:
    site = install(
        "fake-one",
        "import rbench\n@rbench.hookimpl\ndef rbench_agents():\n    yield rbench.AgentContribution(name='one',"
        " summary='x', target='m:A', needs=('json', 'no_such_library', 'fake_package.inner', 'fake_package.nothing'))",
    )
    (site / "fake_package").mkdir()
    (site / "fake_package" / "__init__.py").write_text("raise RuntimeError('imported')")
    (site / "fake_package" / "inner.py").write_text("raise RuntimeError('imported')")
    catalog = build_catalog({})
    (row,) = fake_rows(catalog)
    assert (row["status"], row["needs"]) == ("ok", ["no_such_library", "fake_package.nothing"])
    with pytest.raises(StartError, match=r"needs no_such_library, fake_package.nothing.*pip install no_such_library"):
        catalog.make("agent", "one")
