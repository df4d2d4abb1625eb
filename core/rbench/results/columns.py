"""Records as a flat table: which columns there are, of which type, and what they mean.

The type of a column follows from its name alone, never from what happens to stand in it. So tables of two runs fit
together, also when one has only nulls where the other has numbers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

#: `json` is text that holds one JSON value: what agents and factors may shape as they like.
Kind = Literal["text", "integer", "number", "boolean", "json"]
Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """One column of the flat table. `absent` is what a record without it has."""

    name: str
    kind: Kind
    description: str
    absent: Cell = None


@dataclass(frozen=True)
class _Group:
    """Columns `PREFIX.NAME` of one field of the record, one for each name that occurs.

    Attributes:
        ordered: in the order of the record, which is that of the suite; else by name.
        absent: what a record without this name has.
    """

    prefix: str
    kind: Kind
    description: str
    ordered: bool = False
    absent: Cell = None


#: Columns and groups of columns, in the order of the table.
DICTIONARY: tuple[Column | _Group, ...] = (
    Column("episode", "text", "id: instance, #, repeat"),
    Column("instance", "text", "cell of the design: dimension, level, context"),
    Column("repeat", "integer", "from 0; the same repeat of a context has the same jitter at every level"),
    Column("task", "text", "name of the task"),
    Column("dimension", "text", "factor that is varied; FACTOR+FACTOR for a grid"),
    Column("context", "text", "setting of the context factors"),
    _Group("levels", "text", "level name of the factor, its baseline included", ordered=True),
    _Group("values", "json", "value of that level; null: the factor was left as it is", ordered=True),
    _Group("jitter", "number", "displacement of an object at reset: x and y in metres, yaw in degrees"),
    Column("seed", "integer", "the run seed"),
    Column("outcome", "text", "success, failure, agent_error, unstable or infrastructure_error (which does not count)"),
    Column("reason", "text", "why the episode ended"),
    Column("success", "boolean", "whether the outcome is success"),
    Column("score", "number", "graded score 0..1, the share of subtasks reached"),
    Column("steps", "integer", "control ticks"),
    Column("sim_seconds", "number", "simulated time in seconds"),
    _Group("events", "integer", "how often the event happened", absent=0),
    Column("instruction", "text", "what the agent was told"),
    Column("hashes.scene", "text", "SHA-256 of the scene description"),
    Column("hashes.state", "text", "SHA-256 of the initial state of the simulator"),
    _Group("hashes.first_frame", "text", "SHA-256 of the first frame of the camera, if the agent read it"),
    Column("error", "text", "message, for outcomes that are errors"),
    Column("agent.calls", "integer", "how often the agent was asked to act"),
    Column("agent.clipped", "integer", "how many numbers of its actions were out of range"),
    _Group("agent", "json", "what the agent and its wrappers reported"),
    _Group("timing", "number", "wall time in seconds"),
)


def flat(record: Mapping[str, Any]) -> dict[str, Cell]:
    """One record, given as plain data, by column; numbers that are undefined are None."""
    cells: dict[str, Cell] = {}
    for name in ("episode", "instance", "repeat", "task", "dimension", "context", "seed", "outcome", "reason"):
        cells[name] = record[name]
    for name in ("success", "score", "steps", "sim_seconds", "instruction", "error"):
        cells[name] = record[name]
    for name, level in record["levels"].items():
        cells[f"levels.{name}"] = level
    for name, value in record["values"].items():
        cells[f"values.{name}"] = None if value is None else _json(value)
    for name, jitter in record["jitter"].items():
        for axis, number in jitter.items():
            cells[f"jitter.{name}.{axis}"] = number
    for name, count in Counter(event["name"] for event in record["events"]).items():
        cells[f"events.{name}"] = count
    cells["hashes.scene"], cells["hashes.state"] = record["hashes"]["scene"], record["hashes"]["state"]
    for name, digest in record["hashes"]["first_frame"].items():
        cells[f"hashes.first_frame.{name}"] = digest
    for name, value in record["agent"].items():
        cells[f"agent.{name}"] = value if name in ("calls", "clipped") or value is None else _json(value)
    for name, seconds in record["timing"].items():
        cells[f"timing.{name}"] = seconds
    return cells


def columns_of(rows: Iterable[Mapping[str, Cell]]) -> tuple[Column, ...]:
    """The columns of a table of flat records, in an order that does not depend on that of the rows."""
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return tuple(column for entry in DICTIONARY for column in _columns(entry, names))


def _columns(entry: Column | _Group, names: Iterable[str]) -> Iterator[Column]:
    if isinstance(entry, Column):
        yield entry
        return
    taken = {column.name for column in DICTIONARY if isinstance(column, Column)}
    inside = [name for name in names if name.startswith(f"{entry.prefix}.") and name not in taken]
    for name in inside if entry.ordered else sorted(inside):
        yield Column(name, entry.kind, entry.description, entry.absent)


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
