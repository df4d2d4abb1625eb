"""Options of contributions: numbers are finite, and texts stay what was typed."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from rbench.cli.values import parse_options
from rbench.errors import UsageError
from rbench.plugins.catalog import Catalog
from rbench.plugins.options import checked_options

FACTORS = {
    "position": [{"positions": {"p1": [float("nan"), 0.0]}}, {"positions": {"p1": [0.5, "inf"]}}],
    "camera-pose": [{"radius": float("inf")}, {"target": [0.4, float("nan"), 0.0]}, {"azimuths": [float("-inf")]}],
    "camera-euler": [{"yaw": [float("nan")]}, {"pitch": ["Infinity"]}],
    "camera-distance": [{"distances": [0.0, float("inf")]}],
}


@pytest.mark.parametrize(("name", "options"), [(name, o) for name, several in FACTORS.items() for o in several])
def test_a_factor_takes_finite_numbers_only(catalog: Catalog, name: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="finite"):
        catalog.make("factor", name, options)


def test_a_model_that_would_take_them_is_given_none() -> None:
    class Options(BaseModel):
        model_config = ConfigDict(extra="forbid")
        limit: float = float("inf")
        table: dict[str, list[float]] = {}

    assert checked_options(Options, {}, "agent 'x'").model_dump()["limit"] == float("inf")
    with pytest.raises(UsageError, match=r"agent 'x': option 'limit' holds nan; give a finite number"):
        checked_options(Options, {"limit": "NaN"}, "agent 'x'")
    with pytest.raises(UsageError, match="'table' holds -inf"):
        checked_options(Options, {"table": {"a": [1.0, float("-inf")]}}, "agent 'x'")


class Choice(Enum):
    YES = "true"
    SEVEN = "7"


class Typed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = ""
    perhaps: str | None = None
    choice: Literal["auto", "false", "7"] = "auto"
    listed: Choice = Choice.SEVEN
    flag: bool = True
    number: float = 0.0
    either: int | str = 0


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("text=false", "false"),
        ("text=true", "true"),
        ("text=7", "7"),
        ("text=-12345678901234567890123", "-12345678901234567890123"),
        ('text="1.10"', "1.10"),
        ("perhaps=false", "false"),
        ("perhaps=null", None),
        ("choice=false", "false"),
        ("choice=7", "7"),
        ("listed=true", Choice.YES),
        ("flag=false", False),
        ("number=7", 7.0),
        ("either=7", 7),
        ("either=seven", "seven"),
    ],
)
def test_what_is_typed_for_a_text_is_that_text(item: str, value: Any) -> None:
    found = getattr(checked_options(Typed, parse_options([item], "-o"), "agent 'x'"), item.partition("=")[0])
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("item", ["text=1.10", "text=null"])
def test_a_text_that_was_read_as_something_else_says_how_to_write_it(item: str) -> None:
    with pytest.raises(UsageError, match=r"""valid string, written like 'text="1.10"'"""):
        checked_options(Typed, parse_options([item], "-o"), "agent 'x'")


@pytest.mark.parametrize(
    ("item", "said"),
    [("choice=true", "option 'choice' = True: input should be 'auto'"), ("text=[1]", r"option 'text' = \[1\]")],
)
def test_what_is_wrong_is_refused_all_the_same(item: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        checked_options(Typed, parse_options([item], "-o"), "agent 'x'")


def test_an_unknown_option_beside_a_text_is_named() -> None:
    with pytest.raises(UsageError, match="Did you mean 'perhaps'"):
        checked_options(Typed, parse_options(["text=false", "perhap=1"], "-o"), "agent 'x'")


def test_a_command_called_false_is_a_command(catalog: Catalog) -> None:
    entry = catalog.get("agent", "remote")
    options = entry.resolve_options(parse_options(["spawn=false"], "-o"))
    assert options is not None
    assert options.model_dump()["spawn"] == "false"


@pytest.mark.parametrize("name", ["count", "share", "either"])
@pytest.mark.parametrize("given", [True, False])
def test_true_and_false_are_no_numbers(name: str, given: bool) -> None:
    class Options(BaseModel):
        model_config = ConfigDict(extra="forbid")
        count: int = 0
        share: float = 0.0
        either: int | None = None
        flag: bool = False
        open: int | bool = 0

    with pytest.raises(UsageError, match=rf"agent 'x': option '{name}' = {str(given).lower()}: give a number"):
        checked_options(Options, {name: given}, "agent 'x'")
    kept = checked_options(Options, {"flag": given, "open": given}, "agent 'x'").model_dump()
    assert (kept["flag"], kept["open"]) == (given, given)
