from __future__ import annotations

from pathlib import Path

import pytest

from rbench.cli.values import parse_options, parse_value, parse_wrapper_options
from rbench.errors import UsageError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ('"3"', "3"),
        ("red", "red"),
        ("a,b", "a,b"),
        ("", ""),
        ("NaN", "NaN"),
        ("http://host/?a=b", "http://host/?a=b"),
    ],
)
def test_a_value_is_json_if_it_parses_else_the_string(text: str, value: object) -> None:
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_later_options_win_and_values_may_hold_equal_signs() -> None:
    assert parse_options(["a=1", "b=x=y", "a=2"], "-o") == {"a": 2, "b": "x=y"}


def test_a_file_gives_many_options(tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text('speed = 0.5\nname = "x"\n')
    assert parse_options([f"@{file}", "speed=1"], "-o") == {"speed": 1, "name": "x"}


@pytest.mark.parametrize("item", ["speed", "=1", "@missing.toml"])
def test_a_malformed_option_is_refused_by_name(item: str) -> None:
    with pytest.raises(UsageError, match=item.lstrip("@")):
        parse_options([item], "-o")


def test_wrapper_options_split_at_the_last_dot_before_the_equal_sign() -> None:
    wrappers = ["my-dist/my.wrapper", "sgl"]
    options = parse_wrapper_options(["my-dist/my.wrapper.key=1.5", "sgl.text=a.b=c"], wrappers)
    assert options == {"my-dist/my.wrapper": {"key": 1.5}, "sgl": {"text": "a.b=c"}}


@pytest.mark.parametrize("item", ["sgl=1", "other.key=1", "sgl.key"])
def test_a_wrapper_option_without_its_wrapper_is_refused(item: str) -> None:
    with pytest.raises(UsageError, match="-w"):
        parse_wrapper_options([item], ["sgl"])
