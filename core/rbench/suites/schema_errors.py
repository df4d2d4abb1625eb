"""From a document to its `SuiteTable`, with every mistake in it told by line and key."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rbench.errors import SuiteError, did_you_mean
from rbench.suites.document import Document
from rbench.suites.key_lines import KeyPath
from rbench.suites.schema import SCHEMA, SuiteTable

#: How many mistakes one message lists.
_SHOWN = 10


def read_suite_table(document: Document) -> SuiteTable:
    """The checked content of a suite file.

    Raises:
        SuiteError: names every mistake with file, line and key.
    """
    check_schema_number(document)
    try:
        return SuiteTable.model_validate(document.data)
    except ValidationError as problem:
        found: dict[KeyPath, list[ErrorDetails]] = {}
        for details in problem.errors():
            found.setdefault(_path(document.data, details), []).append(details)
        lines = [document.error(path, _message(path, details)).args[0] for path, details in found.items()]
        if len(lines) > _SHOWN:
            lines[_SHOWN:] = [f"{document.source}: and {len(lines) - _SHOWN} more. Correct these first."]
        raise SuiteError("\n".join(lines)) from problem


def check_schema_number(document: Document) -> None:
    """Refuse a file of another schema before anything else in it is looked at."""
    number = document.data.get("schema")
    if number is None:
        raise document.error(("schema",), f"missing. Add `schema = {SCHEMA}` as the first line.")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise document.error(("schema",), f"{number!r} is no schema number. Write `schema = {SCHEMA}`.")
    if number > SCHEMA:
        raise document.error(
            ("schema",),
            f"the file is written in schema {number}, for a newer rbench; this is rbench {version('rbench')}, "
            f"which reads schema {SCHEMA}. Upgrade rbench, or use the suite's version for schema {SCHEMA}.",
        )


def _path(data: Any, details: ErrorDetails) -> KeyPath:
    """The path in the file: pydantic's location without its marks for unions and keys."""
    path: list[str | int] = []
    for part in details["loc"]:
        inside = range(len(data)) if isinstance(data, list) else data if isinstance(data, Mapping) else ()
        if part in inside:
            data = data[part]
            path.append(part)
    if details["type"] == "missing":
        path.append(details["loc"][-1])
    return tuple(path)


def _message(path: KeyPath, details: list[ErrorDetails]) -> str:
    messages = dict.fromkeys(_one_message(path, d) for d in details)
    if len(messages) == 1:
        return next(iter(messages))
    # A union of types: none of them fitted.
    wanted = " or ".join(d["msg"].removeprefix("Input should be ") for d in details)
    return f"must be {wanted}, not {details[0]['input']!r}. Correct it."


def _one_message(path: KeyPath, details: ErrorDetails) -> str:
    kind, found, limits = details["type"], details["input"], details.get("ctx", {})
    if kind == "missing":
        return f"missing. Add `{path[-1]} = ...` there."
    if kind == "extra_forbidden":
        return f"unknown key.{did_you_mean(str(path[-1]), _known_keys(path[:-1]))} Rename or remove it."
    if kind == "string_pattern_mismatch":
        return (
            f"{found!r} is no valid name. Use lower-case letters, digits, '.', '_' and '-', "
            "and begin with a letter or a digit."
        )
    if kind == "literal_error":
        known = str(limits["expected"])
        near = did_you_mean(found, [name.strip(" '") for name in known.replace(" or ", ",").split(",")])
        return f"{found!r} is not one of {known}.{near if 'Did' in near else ''} Write one of them."
    if kind == "question":
        return details["msg"]
    expected = details["msg"].replace("Input should", "it should").replace("dictionary", "table")
    return f"{expected}, but it is {found!r}. Correct it."


def _known_keys(path: KeyPath) -> list[str]:
    """The keys that the schema knows in the table at a path."""
    kind: Any = SuiteTable
    for part in path:
        if isinstance(part, str) and isinstance(kind, type) and issubclass(kind, BaseModel):
            fields = {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
            kind = fields[part]
        else:  # the items of a list or the values of a table
            kind = get_args(kind)[-1]
    return [field.alias or name for name, field in kind.model_fields.items()]
