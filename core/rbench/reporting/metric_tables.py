"""What a metric gives beyond histograms, as a page can show it: single values, and tables of them.

Core knows no metric. Of what one puts into `extra`, a number or a text is a value; a list of mappings of values is a
table with a row each; so is a mapping of such mappings, whose keys name the rows. The rest stands in the JSON only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Values and rows that are shown; a metric is somebody's plugin and may give any number.
MOST_VALUES, MOST_ROWS = 40, 300
#: A table with more columns than this, and fewer rows than columns, is turned on its side.
_WIDE = 8

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Value:
    """A single value.

    Attributes:
        path: where it stands in what the metric gave; `interval` likewise, or None.
    """

    name: str
    path: Path
    interval: Path | None = None


@dataclass(frozen=True)
class MetricTable:
    """A table that a metric gave.

    Attributes:
        name: for people.
        columns: without that of the names.
        rows: a name, empty where rows have none, and for each column where its value stands; None: it has none.
        left_out: rows that are not shown.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Path | None, ...]], ...]
    left_out: int = 0

    @property
    def named(self) -> bool:
        return any(name for name, _ in self.rows)


def values_of(extra: Any) -> list[Value]:
    """The single values, a 95 % interval `NAME_interval` beside its number."""
    if not isinstance(extra, Mapping):
        return []
    found = []
    for name, value in extra.items():
        if _is_value(value) and not name.endswith("_interval"):
            beside = f"{name}_interval"
            found.append(Value(_words(name), (name,), (beside,) if _is_interval(extra.get(beside)) else None))
    return found[:MOST_VALUES]


def tables_of(extra: Any) -> list[MetricTable]:
    """The tables, in the order given."""
    if not isinstance(extra, Mapping):
        return []
    return [table for name, value in extra.items() if (table := _table(name, value)) is not None]


def _table(name: str, value: Any) -> MetricTable | None:
    rows: list[tuple[str, Path, Mapping[str, Any]]]
    if isinstance(value, list):
        rows = [("", (name, place), row) for place, row in enumerate(value)]
    elif isinstance(value, Mapping):
        rows = [(key, (name, key), row) for key, row in value.items()]
    else:
        return None
    if not rows or not all(_is_row(row) for _, _, row in rows):
        return None
    columns = tuple(dict.fromkeys(column for _, _, row in rows for column in row))
    cells = [(title, tuple((*path, c) if c in row else None for c in columns)) for title, path, row in rows]
    if isinstance(value, Mapping) and len(columns) > max(_WIDE, len(cells)):
        titles = tuple(title for title, _ in cells)
        cells = [(column, tuple(row[place] for _, row in cells)) for place, column in enumerate(columns)]
        columns = titles
    return MetricTable(_words(name), columns, tuple(cells[:MOST_ROWS]), max(0, len(cells) - MOST_ROWS))


def _is_row(row: Any) -> bool:
    return isinstance(row, Mapping) and bool(row) and all(_is_value(v) or _is_interval(v) for v in row.values())


def _is_value(value: Any) -> bool:
    return value is None or isinstance(value, (int, float, str))


def _is_interval(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(bound is None or (isinstance(bound, (int, float)) and not isinstance(bound, bool)) for bound in value)
    )


def _words(name: str) -> str:
    return name.replace("_", " ")
