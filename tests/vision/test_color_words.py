"""Words for colours in descriptions."""

from __future__ import annotations

import pytest

from rbench.vision.color_words import color_words, mentions


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("red cube", ["red"]),
        ("Dark-Slate Grey cube", ["dark slate gray"]),
        ("darkslategray cube", ["dark slate gray"]),
        ("the red block in a yellow box", ["red", "yellow"]),
        ("light brown cylinder", ["brown"]),
        ("aquamarine prism", ["aquamarine"]),
        ("golden pyramid", ["gold"]),
        ("dark blue green thing", ["dark blue", "green"]),
        ("geometry", []),
        ("bored tanned redo", []),
        ("", []),
        ("\x00\ud800 red", ["red"]),
    ],
)
def test_colour_words_are_found_whole_and_in_order(text: str, names: list[str]) -> None:
    assert [m.word.name for m in mentions(text)] == names


def test_a_mention_says_where_it_is() -> None:
    text = "a Dark Slate Gray cube"
    (found,) = mentions(text)
    assert text[found.begin : found.end] == "Dark Slate Gray"


def test_a_word_stands_for_its_colour_in_css() -> None:
    (found,) = mentions("a crimson cube")
    assert found.word.rgb == (220, 20, 60)


def test_names_are_written_as_people_write_them() -> None:
    names = {word.name for word in color_words()}
    assert {"dark slate gray", "light goldenrod yellow", "aquamarine", "misty rose", "seashell", "navy"} <= names
    assert not any("grey" in name for name in names)


def test_every_word_is_found_by_its_own_name() -> None:
    for word in color_words():
        assert [m.word for m in mentions(f"the {word.name} cube")] == [word]
