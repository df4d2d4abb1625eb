"""Checks of what a hook returned; a record that passes can be listed and used."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from rbench.contributions import Contribution
from rbench.errors import PluginError

NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def checked_record(record: Any, kind: type[Contribution], hook: str) -> Contribution:
    """The record itself, once it is known to be complete and well formed.

    Raises:
        PluginError: wrong type, invalid name, or a field that cannot be used; the message names the hook.
    """
    if not isinstance(record, kind):
        raise PluginError(f"{hook} must yield {kind.__name__} records, got {_short(record)}")
    if not isinstance(record.name, str) or not NAME.fullmatch(record.name):
        raise PluginError(
            f"{hook}: the name {_short(record.name)} is not valid; use lower-case letters, digits, '.', '_' and '-',"
            " starting with a letter or digit"
        )
    where = f"{hook}: {record.kind} {record.name!r}"
    if not isinstance(record.summary, str) or not record.summary.strip() or len(record.summary.splitlines()) > 1:
        raise PluginError(f"{where}: summary must be one line of text, got {_short(record.summary)}")
    _check_target(record, where)
    if record.options is not None and not is_target(record.options):
        raise PluginError(f"{where}: options must be 'module:attribute' or None, got {_short(record.options)}")
    if record.doctor is not None and not is_target(record.doctor):
        raise PluginError(f"{where}: doctor must be 'module:attribute' or None, got {_short(record.doctor)}")
    if not isinstance(record.needs, tuple) or not all(_is_dotted(need) for need in record.needs):
        raise PluginError(f"{where}: needs must be a tuple of import names, got {_short(record.needs)}")
    if not isinstance(record.verified, str):
        raise PluginError(f"{where}: verified must be text, got {_short(record.verified)}")
    return record


def _check_target(record: Contribution, where: str) -> None:
    if record.kind != "suite":
        if not is_target(record.target):
            raise PluginError(f"{where}: target must be 'module:attribute', got {_short(record.target)}")
        return
    package, _, file = record.target.partition(":") if isinstance(record.target, str) else ("", "", "")
    path = PurePosixPath(file)
    if not _is_dotted(package) or path.suffix != ".toml" or path.is_absolute() or ".." in path.parts:
        raise PluginError(f"{where}: target must be 'package:file.toml', got {_short(record.target)}")


def is_target(value: Any) -> bool:
    """Whether a value is text of the form `"module:attribute"`; both sides may be dotted."""
    if not isinstance(value, str):
        return False
    module, colon, attribute = value.partition(":")
    return bool(colon) and _is_dotted(module) and _is_dotted(attribute)


def _is_dotted(value: Any) -> bool:
    return isinstance(value, str) and all(part.isidentifier() for part in value.split("."))


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
