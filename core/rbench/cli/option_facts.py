"""What can be said of the options of a plugin: names, types, defaults, meanings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pydantic


def option_facts(model: type[pydantic.BaseModel]) -> dict[str, dict[str, Any]]:
    """Name -> type (in words), required, default, description, choices; from the model's JSON schema.

    An option without a description of its own is described by the `Attributes:` section of its model's docstring.
    """
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    documented = attribute_lines(inspect.getdoc(model) or "")
    fields = {field.alias or name: name for name, field in model.model_fields.items()}
    required = schema.get("required", ())
    facts = {}
    for name, part in schema.get("properties", {}).items():
        part = _resolved(part, definitions)
        facts[name] = {
            "type": type_in_words(part, definitions),
            "required": name in required,
            "default": part.get("default"),
            "description": part.get("description") or documented.get(fields.get(name, name), ""),
            "choices": _choices(part, definitions),
        }
    return facts


def type_in_words(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """A JSON schema as words: `number, more than 0, at most 1`, `text or none`, `one of a, b`."""
    part = _resolved(part, definitions)
    if "const" in part:
        return f"{part['const']}"
    if "enum" in part:
        return "one of " + ", ".join(map(str, part["enum"]))
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(type_in_words(option, definitions) for option in part["anyOf"]))
    kind = part.get("type")
    if kind == "array":
        items = part.get("items") or {}
        return f"list of {type_in_words(items, definitions)}" if items else "list"
    words = {"integer": "whole number", "string": "text", "boolean": "true or false", "null": "none", "object": "table"}
    limits = {
        "minimum": "at least {}",
        "exclusiveMinimum": "more than {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "less than {}",
    }
    said = [text.format(f"{part[key]:g}") for key, text in limits.items() if key in part]
    return ", ".join([words.get(str(kind), str(kind or "anything")), *said])


def attribute_lines(text: str) -> dict[str, str]:
    """The entries of the `Attributes:` section of a docstring in Google form."""
    _, found, section = text.partition("Attributes:\n")
    entries: dict[str, str] = {}
    name = ""
    indent = None
    for line in section.splitlines() if found else ():
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        indent = depth if indent is None else indent
        if depth < indent:
            break
        match = re.match(r"([\w, ]+):\s*(.*)", line.strip()) if depth == indent else None
        if match:
            name, text = match[1], match[2]
            entries |= dict.fromkeys((part.strip() for part in name.split(",")), text)
        elif name:
            for part in name.split(","):
                entries[part.strip()] += " " + line.strip()
    return entries


def _resolved(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its reference followed; what stands beside the reference wins."""
    if "$ref" not in part:
        return dict(part)
    name = str(part["$ref"]).rpartition("/")[2]
    return {**definitions.get(name, {}), **{key: value for key, value in part.items() if key != "$ref"}}


def _choices(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Any] | None:
    if "enum" in part:
        return list(part["enum"])
    for option in part.get("anyOf", ()):
        if (found := _resolved(option, definitions).get("enum")) is not None:
            return list(found)
    return None
