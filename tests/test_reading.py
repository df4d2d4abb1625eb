"""JSON and TOML of others: a hostile text is a ValueError."""

from __future__ import annotations

import json

import pytest

from rbench.reading import DEEPEST, NestedTooDeep, read_json, read_toml


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


def tables(depth: int) -> str:
    return '{"a":' * depth + "0" + "}" * depth


@pytest.mark.parametrize("depth", [DEEPEST + 1, 500, 5_000, 200_000])
@pytest.mark.parametrize("nested", [lists, tables])
def test_json_that_is_nested_too_deep_is_a_value_error(nested: object, depth: int) -> None:
    assert callable(nested)
    with pytest.raises(NestedTooDeep, match="deep inside one another"):
        read_json(nested(depth))


@pytest.mark.parametrize("depth", [DEEPEST + 1, 400, 5_000])
def test_toml_that_is_nested_too_deep_is_a_value_error(depth: int) -> None:
    with pytest.raises(NestedTooDeep):
        read_toml(f"a = {lists(depth)}")


def test_tables_that_are_deep_by_their_names_are_too_deep() -> None:
    with pytest.raises(NestedTooDeep):
        read_toml(f"{'.'.join(['a'] * (DEEPEST + 2))} = 1")


@pytest.mark.parametrize("depth", [0, 1, 10, DEEPEST])
def test_what_is_deep_but_not_too_deep_is_read(depth: int) -> None:
    text = tables(depth)
    assert read_json(text) == json.loads(text)


def test_wide_is_not_deep() -> None:
    assert len(read_json("[" + ",".join(["[]"] * 10_000) + "]")) == 10_000


def test_what_is_no_json_and_no_toml_stays_the_error_of_its_parser() -> None:
    with pytest.raises(json.JSONDecodeError):
        read_json("{")
    with pytest.raises(ValueError, match="line 2"):
        read_toml("a = 1\nb = = 2")
