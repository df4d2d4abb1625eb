from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.errors import PluginError, UsageError
from rbench.plugins.catalog import Catalog, build_catalog

Install = Callable[..., Path]

IMPLEMENTATION = """
from typing import Literal
from pydantic import BaseModel, ConfigDict, Field, model_validator

class Options(BaseModel):
    model_config = ConfigDict(extra="forbid")
    speed: float = Field(0.2, gt=0)
    color: Literal["red", "green"] = "red"
    api_key: int = 0
    parts: tuple[int, ...] = ()

    @model_validator(mode="after")
    def check(self):
        if self.speed > 5 and self.color == "red":
            raise ValueError("red ones are slow")
        return self

class Loose(BaseModel):
    pass

class Agent:
    def __init__(self, options, *arguments):
        self.made_with = (options, *arguments)

class Faulty:
    def __init__(self, options):
        raise LookupError("from the constructor")
"""


@pytest.fixture
def catalog(install: Install) -> Catalog:
    """Agents of a fake distribution; the name of each says what is special about it."""
    agents = [
        "name='plain', target='fake_implementation:Agent'",
        "name='with-options', target='fake_implementation:Agent', options='fake_implementation:Options'",
        "name='faulty', target='fake_implementation:Faulty'",
        "name='loose', target='fake_implementation:Agent', options='fake_implementation:Loose'",
        "name='no-model', target='fake_implementation:Agent', options='fake_implementation:Agent'",
        "name='gone', target='fake_implementation:Gone'",
        "name='nowhere', target='fake_nowhere:Agent'",
        "name='exits', target='fake_exits:Agent'",
        "name='lacks', target='fake_lacks:Agent'",
        "name='loud', target='fake_loud:Agent'",
    ]
    lines = [f"    yield rbench.AgentContribution(summary='x', {agent})" for agent in agents]
    site = install("fake-one", "import rbench\n@rbench.hookimpl\ndef rbench_agents():\n" + "\n".join(lines))
    (site / "fake_implementation.py").write_text(IMPLEMENTATION)
    (site / "fake_exits.py").write_text("raise SystemExit(0)")
    (site / "fake_lacks.py").write_text("import no_such_library.part")
    (site / "fake_loud.py").write_text("print('hello')\nAgent = str")
    return build_catalog({"RBENCH_PLUGINS": "fake-one"})


def test_listing_imports_no_target(catalog: Catalog) -> None:
    catalog.rows()
    assert "fake_implementation" not in sys.modules


def test_making_calls_the_target_with_options_and_arguments(catalog: Catalog) -> None:
    options, context = catalog.make("agent", "with-options", {"speed": 1}, "context").made_with
    assert (options.speed, options.color, context) == (1.0, "red", "context")


def test_an_option_that_is_a_list_says_how_one_is_written(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match=r"'parts' = '1': should be a list, written like '\[\"a\", \"b\"\]'"):
        catalog.make("agent", "with-options", {"parts": "1"})


def test_a_target_without_options_is_called_with_none(catalog: Catalog) -> None:
    assert catalog.make("agent", "plain").made_with == (None,)


def test_options_for_something_that_takes_none_are_refused(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match=r"agent 'plain' \(fake-one 1\.0\) takes no options, got 'speed'"):
        catalog.make("agent", "plain", {"speed": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sped": 1}, r"there is no option 'sped'. Did you mean 'speed'\? Its options: speed, color, api_key, parts"),
        ({"color": "gren"}, r"option 'color' = 'gren': input should be 'red' or 'green'. Did you mean 'green'"),
        ({"speed": "fast"}, r"option 'speed' = 'fast': input should be a valid number"),
        ({"speed": -1}, r"option 'speed' = -1: input should be greater than 0"),
        ({"speed": 9}, r"red ones are slow"),
        ({"parts": [1, "x"]}, r"option 'parts.1' = 'x'"),
        ({"sped": 1, "color": 3}, r"(?=.*'sped')(?=.*'color' = 3)"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(catalog: Catalog, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        catalog.make("agent", "with-options", options)


def test_a_wrong_key_is_not_repeated_in_the_message(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="hidden") as problem:
        catalog.make("agent", "with-options", {"api_key": "s3cret"})
    assert "s3cret" not in str(problem.value)


def test_what_a_constructor_raises_is_passed_on(catalog: Catalog) -> None:
    with pytest.raises(LookupError, match="from the constructor"):
        catalog.make("agent", "faulty")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", "'fake_implementation:Gone' could not be imported: AttributeError.*upgrade fake-one"),
        ("nowhere", "ModuleNotFoundError: No module named 'fake_nowhere'. Reinstall"),
        ("exits", "SystemExit: 0"),
        ("lacks", "perhaps: pip install no_such_library"),
    ],
)
def test_a_target_that_cannot_be_imported_is_named_with_the_reason(catalog: Catalog, name: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        catalog.make("agent", name)


@pytest.mark.parametrize(("name", "message"), [("loose", "lacks extra='forbid'"), ("no-model", "no pydantic model")])
def test_an_option_model_that_would_let_slips_pass_is_refused(catalog: Catalog, name: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        catalog.get("agent", name).options_model()


def test_what_a_target_prints_at_import_goes_to_stderr(catalog: Catalog, capfd: pytest.CaptureFixture[str]) -> None:
    catalog.get("agent", "loud").load()
    assert capfd.readouterr() == ("", "hello\n")


def test_a_suite_is_a_file_and_is_not_called(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="is a file"):
        catalog.make("suite", "roboview-bias")


def test_a_suite_whose_file_is_missing_is_named(install: Install) -> None:
    site = install(
        "fake-suite",
        "import rbench\n@rbench.hookimpl\ndef rbench_suites():\n"
        "    yield rbench.SuiteContribution(name='here', summary='x', target='fake_data:here.toml')\n"
        "    yield rbench.SuiteContribution(name='away', summary='x', target='fake_data:away.toml')",
    )
    (site / "fake_data").mkdir()
    (site / "fake_data" / "__init__.py").touch()
    (site / "fake_data" / "here.toml").write_text("name = 'here'")
    catalog = build_catalog({})
    assert catalog.get("suite", "here").load().read_text() == "name = 'here'"
    with pytest.raises(PluginError, match=r"holds no file 'away\.toml'\. Reinstall fake-suite"):
        catalog.get("suite", "away").load()
