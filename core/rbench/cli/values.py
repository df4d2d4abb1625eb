"""Option values on the command line: `key=value`, JSON if it parses, else the string; `@file.toml` gives many."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rbench.errors import UsageError
from rbench.reading import NestedTooDeep, read_json, read_toml


def parse_options(items: Iterable[str], flag: str) -> dict[str, Any]:
    """Collect repeated `key=value` and `@file.toml` items; later ones win.

    Args:
        items: as given on the command line.
        flag: the flag they came with, for messages.

    Raises:
        UsageError: an item without `=`, an empty key, or a file that cannot be read.
    """
    options: dict[str, Any] = {}
    for item in items:
        if item.startswith("@"):
            options.update(_read_table(item[1:], flag))
            continue
        key, equals, text = item.partition("=")
        if not equals or not key:
            raise UsageError(f"{flag} {item!r}: give KEY=VALUE or @FILE.toml")
        options[key] = parse_value(text)
    return options


def parse_value(text: str) -> Any:
    """JSON if it parses, else the string itself. `NaN` and infinities are not JSON and stay strings."""
    try:
        return read_json(text, parse_constant=lambda constant: constant)
    except NestedTooDeep:
        raise UsageError(f"the value {text[:40]}... is nested too deep; give a flatter one") from None
    except ValueError:
        return text


def parse_wrapper_options(items: Iterable[str], wrappers: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Options of wrappers, `-w WRAPPER.key=value`; split at the last dot before the `=`.

    Raises:
        UsageError: no dot, or a wrapper that --wrap does not name.
    """
    names = list(wrappers)
    options: dict[str, dict[str, Any]] = {name: {} for name in names}
    for item in items:
        left, equals, _ = item.partition("=")
        wrapper, dot, _ = left.rpartition(".")
        if not equals or not dot or not wrapper:
            raise UsageError(f"-w {item!r}: give WRAPPER.KEY=VALUE")
        if wrapper not in options:
            known = ", ".join(names) or "none"
            raise UsageError(f"-w {item!r}: no wrapper {wrapper!r} in this run (--wrap gives: {known})")
        options[wrapper].update(parse_options([item[len(wrapper) + 1 :]], "-w"))
    return options


def _read_table(name: str, flag: str) -> dict[str, Any]:
    try:
        return read_toml(Path(name).read_text(encoding="utf-8"))
    except OSError as problem:
        raise UsageError(f"{flag} @{name}: cannot be read ({problem.strerror}); give the path of a TOML file") from None
    except ValueError as problem:
        raise UsageError(f"{flag} @{name}: not valid TOML: {problem}") from None
