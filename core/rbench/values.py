"""Frozen dataclasses to plain JSON data and back, and their content hash.

Scene descriptions, instances, records and run descriptions are trees of frozen dataclasses,
tuples, mappings and scalars. They are written down as JSON and rebuilt equal.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """The value as dicts, lists and scalars that `json.dumps` accepts without loss.

    Undefined numbers (NaN, infinities) become None: they have no JSON form.
    """
    kind: Any = type(value)
    if kind is str or kind is int or value is None or kind is bool:  # most of a tree is this: looked at first
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if (names := _field_names(kind)) is not None:
        return {name: to_plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} has no plain form: {value!r}")


def from_plain(cls: type[T], data: Any) -> T:
    """Rebuild a value of type `cls` from what `to_plain` returned.

    Raises:
        ValueError: a key is unknown or missing, or a value has the wrong type; the message
            holds the dotted path to it.
    """
    result: T = _build(cls, data, "")
    return result


def content_hash(value: Any) -> str:
    """SHA-256 (hex) of the canonical JSON of a value; equal values have equal hashes."""
    return hashlib.sha256(_canonical(value).encode()).hexdigest()


def content_hash_by_parts(value: Any, known: KnownTexts) -> str:
    """`content_hash` of a dataclass whose parts were mostly there before.

    Args:
        known: texts of frozen values inside it; kept from call to call.
    """
    names = sorted(f.name for f in dataclasses.fields(value))
    text = ",".join(f'"{name}":{known.text(getattr(value, name))}' for name in names)
    return hashlib.sha256(f"{{{text}}}".encode()).hexdigest()


class KnownTexts:
    """The canonical JSON of frozen values, by identity: equal ones need not have equal texts (1 and 1.0)."""

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._texts: dict[int, tuple[Any, str]] = {}

    def text(self, value: Any) -> str:
        """The canonical JSON of a frozen dataclass, a tuple of them, or any other value."""
        if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
            return f"[{','.join(self.text(item) for item in value)}]"
        if not dataclasses.is_dataclass(value):
            return _canonical(value)
        found = self._texts.get(id(value))
        if found is None:
            if len(self._texts) >= self._size:
                self._texts.clear()
            # The value is kept with its text, so that no other can take its identity.
            found = self._texts[id(value)] = (value, _canonical(value))
        return found[1]


#: `json.dumps` makes an encoder a call.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _canonical(value: Any) -> str:
    return _ENCODER.encode(to_plain(value))


@cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    """The names of a dataclass's fields in order; None for any other class."""
    return tuple(f.name for f in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _build(kind: Any, data: Any, path: str) -> Any:
    if kind is Any:
        return data
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _build_union(arguments, data, path)
    if origin is Literal:
        if data not in arguments:
            raise ValueError(f"{path or 'value'}: {data!r} is not one of {list(arguments)}")
        return data
    if origin is tuple:
        return _build_tuple(arguments, data, path)
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        if not isinstance(data, Mapping):
            raise ValueError(f"{path or 'value'}: expected a table, got {data!r}")
        item_type = arguments[1] if arguments else Any
        return {key: _build(item_type, item, f"{path}.{key}") for key, item in data.items()}
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(kind, data, path)
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(kind, type) and isinstance(data, kind) and (kind is bool or not isinstance(data, bool)):
        return data
    raise ValueError(f"{path or 'value'}: expected {getattr(kind, '__name__', kind)}, got {data!r}")


def _build_union(options: tuple[Any, ...], data: Any, path: str) -> Any:
    if data is None and type(None) in options:
        return None
    problems = []
    for option in options:
        if option is type(None):
            continue
        try:
            return _build(option, data, path)
        except ValueError as problem:
            problems.append(str(problem))
    raise ValueError("; ".join(problems))


def _build_tuple(arguments: tuple[Any, ...], data: Any, path: str) -> Any:
    if not isinstance(data, (list, tuple)):
        raise ValueError(f"{path or 'value'}: expected a list, got {data!r}")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_build(arguments[0], item, f"{path}[{i}]") for i, item in enumerate(data))
    if len(arguments) != len(data):
        raise ValueError(f"{path or 'value'}: expected {len(arguments)} items, got {len(data)}")
    return tuple(_build(t, item, f"{path}[{i}]") for i, (t, item) in enumerate(zip(arguments, data, strict=True)))


def _build_dataclass(kind: Any, data: Any, path: str) -> Any:
    if not isinstance(data, Mapping):
        raise ValueError(f"{path or kind.__name__}: expected a table, got {data!r}")
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}
    unknown = sorted(set(data) - set(fields))
    if unknown:
        raise ValueError(f"{path or kind.__name__}: unknown key {unknown[0]!r}")
    hints = _hints(kind)
    values = {
        name: _build(hints[name], data[name], f"{path}.{name}" if path else name) for name in fields if name in data
    }
    missing = [
        name
        for name, f in fields.items()
        if name not in values and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"{path or kind.__name__}: missing key {missing[0]!r}")
    return kind(**values)
