"""Whether what a metric returned can be reported. A metric is somebody's plugin: nothing is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rbench.design import Design
from rbench.interfaces.metric import MetricResult
from rbench.values import to_plain

#: Keys of an interaction that hold a number for each factor, or each way round.
_BY_FACTOR = ("cv", "iec", "floor")


def in_form(result: Any, design: Design, numbers: tuple[str, ...]) -> MetricResult:
    """The result, once it has the form that `MetricResult` describes.

    Args:
        numbers: keys of rows that reports print as numbers or intervals.

    Raises:
        TypeError, ValueError, RecursionError: it has not; the first two name what is wrong.
    """
    if not isinstance(result, MetricResult):
        raise TypeError(f"compute() returned {type(result).__name__}, not a MetricResult")
    _require_text_keys(result.__dict__)
    to_plain(result)
    single = {dimension.name for dimension in design.dimensions if not dimension.is_grid}
    grids = [list(dimension.factors) for dimension in design.dimensions if dimension.is_grid]
    rows = {"the average": result.average, **{f"the row of {n!r}": row for n, row in result.dimensions.items()}}
    if unknown := sorted(result.dimensions.keys() - single):
        raise ValueError(f"a row for {unknown[0]!r}, which is no single dimension of the suite")
    for place, row in rows.items():
        for key in numbers:
            if not _is_number(row.get(key)):
                raise TypeError(f"{key} in {place} is {row[key]!r}, no number")
    for table in result.interactions:
        if not isinstance(table, Mapping) or list(table.get("factors", ())) not in grids:
            raise ValueError("a table of interactions whose `factors` are no grid of the suite")
        for key in _BY_FACTOR:
            found = table.get(key, {})
            if not isinstance(found, Mapping) or not all(map(_is_number, found.values())):
                raise TypeError(f"{key} of an interaction is {found!r}, not numbers by name")
    return result


def _require_text_keys(value: Any) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"key {key!r} is no text; JSON has no other keys")
            _require_text_keys(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _require_text_keys(item)


def _is_number(value: Any) -> bool:
    """A number, nothing, or an interval of such."""
    if isinstance(value, (list, tuple)):
        return len(value) == 2 and all(not isinstance(v, (list, tuple)) and _is_number(v) for v in value)
    return value is None or (hasattr(value, "__float__") and not isinstance(value, (bool, str)))
