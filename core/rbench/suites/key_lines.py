"""Where each key of a TOML text stands. `tomllib` gives values without positions; errors need both."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

#: The path to a value: keys, and the index of each list item or array table.
KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\r\n]+")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line (from 1) on which every key, table and list item of a valid TOML text begins."""
    return _Scanner(text).scan()


class _Scanner:
    """Reads text that `tomllib` has accepted, so it looks for positions and never for mistakes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[KeyPath, int] = {}
        self._array_tables: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip_blank():
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _skip_blank(self) -> bool:
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at < len(self._text)

    def _note(self, path: KeyPath, at: int) -> None:
        self._lines.setdefault(path, bisect_right(self._ends, at - 1) + 1)

    def _header(self) -> KeyPath:
        start = self._at
        brackets = 2 if self._text.startswith("[[", start) else 1
        self._at += brackets
        *parents, last = self._keys()
        path: KeyPath = ()
        for key in parents:
            self._note((*path, key), start)
            path = self._newest((*path, key))
        path = (*path, last)
        self._note(path, start)
        if brackets == 2:
            index = self._array_tables.get(path, -1) + 1
            self._array_tables[path] = index
            path = (*path, index)
            self._note(path, start)
        self._skip_blank()
        self._at += brackets
        return path

    def _newest(self, path: KeyPath) -> KeyPath:
        return (*path, self._array_tables[path]) if path in self._array_tables else path

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip_blank()
            quoted = _STRING.match(self._text, self._at)
            match = quoted or _BARE_KEY.match(self._text, self._at)
            assert match, "the text is valid TOML"
            keys.append(tomllib.loads(f"key = {match.group()}")["key"] if quoted else match.group())
            self._at = match.end()
            while self._text[self._at] in " \t":
                self._at += 1
            if self._text[self._at] != ".":
                return keys
            self._at += 1

    def _pair(self, table: KeyPath) -> None:
        start = self._at
        path = table
        for key in self._keys():
            path = (*path, key)
            self._note(path, start)
        self._at += 1  # past the "="
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._skip_blank()
        character = self._text[self._at]
        if character == "[":
            self._items(path, "]")
        elif character == "{":
            self._items(path, "}")
        else:
            match = _STRING.match(self._text, self._at) or _SCALAR.match(self._text, self._at)
            assert match, "the text is valid TOML"
            self._at = match.end()

    def _items(self, path: KeyPath, closing: str) -> None:
        self._at += 1
        index = 0
        while True:
            self._skip_blank()
            character = self._text[self._at]
            if character in (closing, ","):
                self._at += 1
                if character == closing:
                    return
            elif closing == "}":
                self._pair(path)
            else:
                self._note((*path, index), self._at)
                self._value((*path, index))
                index += 1
