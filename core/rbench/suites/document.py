"""A TOML file that people wrote: its data, and errors that name file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from rbench.errors import SuiteError
from rbench.reading import NestedTooDeep, read_toml
from rbench.suites.key_lines import KeyPath, key_lines
from rbench.values import from_plain

T = TypeVar("T")

_UNKNOWN_KEY = re.compile(r"unknown key '(.*)'$")
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class File(Protocol):
    """What a document is read from: a path, or a file inside a package."""

    def read_bytes(self) -> bytes:
        """The content."""


@dataclass(frozen=True)
class Document:
    """The text and the data of one TOML file; `source` is what messages call it."""

    source: str
    text: str
    data: dict[str, Any]

    @staticmethod
    def read(file: File, source: str) -> Document:
        """Read a file.

        Raises:
            SuiteError: it cannot be read or is not TOML; the message names the place.
        """
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except OSError as problem:
            raise SuiteError(
                f"{source}: cannot be read ({problem.strerror}). Give the path of a readable .toml file."
            ) from problem
        except UnicodeDecodeError as problem:
            raise SuiteError(
                f"{source}: byte {problem.start} is not UTF-8. Save the file with the encoding UTF-8."
            ) from problem
        except ValueError:  # what no system takes for a path
            raise SuiteError(f"{source!r} cannot be the path of a file: it holds a NUL character.") from None
        return Document.parse(text, source)

    @staticmethod
    def parse(text: str, source: str) -> Document:
        """The document of a text. Raises SuiteError where it is not TOML."""
        try:
            return Document(source, text, read_toml(text))
        except NestedTooDeep as problem:
            raise SuiteError(f"{source}: {problem}. Write it flatter: nothing in it needs such a depth.") from None
        except tomllib.TOMLDecodeError as problem:
            reason = str(problem)
            found = _POSITION.search(reason)
            place = f", line {found[1]}, column {found[2]}" if found and found[1] else ", at its end"
            raise SuiteError(
                f"{source}{place}: this is not TOML: {_POSITION.sub('', reason)}. Correct the syntax there."
            ) from problem

    @cached_property
    def _lines(self) -> dict[KeyPath, int]:
        return key_lines(self.text)

    def place(self, path: KeyPath) -> str:
        """`FILE, line N: KEY` of a key, or of the nearest thing around it that stands in the file."""
        for length in range(len(path), 0, -1):
            if line := self._lines.get(path[:length]):
                return f"{self.source}, line {line}: {dotted(path)}"
        return f"{self.source}: {dotted(path)}" if path else self.source

    def error(self, path: KeyPath, message: str) -> SuiteError:
        """The error for what is wrong with a key; `message` ends with what to do."""
        return SuiteError(f"{self.place(path)}: {message}")

    def require_different(self, path: KeyPath, names: Sequence[str]) -> None:
        """Raise SuiteError when one of the names stands twice."""
        for i, name in enumerate(names):
            if name in names[:i]:
                raise self.error(path, f"{name!r} is there twice. Each needs its own name.")

    def decode(self, cls: type[T]) -> T:
        """The data as a value of a frozen dataclass.

        Raises:
            SuiteError: an unknown or missing key, or a value of the wrong type.
        """
        try:
            return from_plain(cls, self.data)
        except ValueError as problem:
            where, separator, message = str(problem).partition(": ")
            path = undotted(where) if separator else ()
            if len(path) == 1 and path[0] == cls.__name__:
                path = ()
            if unknown := _UNKNOWN_KEY.match(message):
                path = (*path, unknown[1])
            raise self.error(path, f"{message or problem}. Correct it in the file.") from problem


def dotted(path: KeyPath) -> str:
    """A path as people write it: `tasks[0].goal[1]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def undotted(text: str) -> KeyPath:
    """The path that `dotted` wrote (of keys without dots and brackets)."""
    return tuple(int(index) if index else key for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", text))
