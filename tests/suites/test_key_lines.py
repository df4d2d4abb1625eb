"""Positions of keys in TOML texts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from rbench.suites.key_lines import KeyPath, key_lines

TEXT = '''# a comment with [brackets] and = signs
title = "a # no comment"   # a comment
[owner]
name.first = 'x = [y]'
"quoted.key" = 1

[[fruits]]
name = """
several
lines with ] and }
"""
[fruits.physical]
color = "red"
[[fruits.varieties]]
name = "a"
[[fruits.varieties]]
name = "b"

[[fruits]]
list = [
    { a = 1, b = [ 2,
      3 ] }, # comment, with comma
    { a = 1979-05-27 07:32:00 },
]
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("owner",), 3),
        (("owner", "name", "first"), 4),
        (("owner", "quoted.key"), 5),
        (("fruits",), 7),
        (("fruits", 0), 7),
        (("fruits", 0, "name"), 8),
        (("fruits", 0, "physical", "color"), 13),
        (("fruits", 0, "varieties", 1, "name"), 17),
        (("fruits", 1), 19),
        (("fruits", 1, "list", 0, "a"), 21),
        (("fruits", 1, "list", 0, "b", 1), 22),
        (("fruits", 1, "list", 1, "a"), 23),
    ],
)
def test_every_key_has_the_line_on_which_it_begins(path: KeyPath, line: int) -> None:
    assert key_lines(TEXT)[path] == line


def test_lines_are_the_same_with_windows_line_ends() -> None:
    assert key_lines(TEXT.replace("\n", "\r\n")) == key_lines(TEXT)


def paths_of(data: Any, path: KeyPath = ()) -> set[KeyPath]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return {path} | {found for key, value in inner for found in paths_of(value, (*path, key))}


@pytest.mark.parametrize("name", ["tiny.toml", "small.toml"])
def test_nothing_in_a_file_is_without_a_line(name: str) -> None:
    text = (Path(__file__).parent / "data" / name).read_text()
    assert paths_of(tomllib.loads(text)) - {()} == set(key_lines(text))


def test_a_string_in_three_quotes_may_hold_quotes() -> None:
    assert key_lines('a = """x""" \nb = """""""" \nc = \'\'\'it\'s\'\'\'\nd = 1')[("d",)] == 4
