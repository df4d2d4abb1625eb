"""Export: the records of a run for other programs, as JSON lines or as a flat table."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO, TypeVar

from rbench.errors import StartError
from rbench.results.atomic import replacing
from rbench.results.columns import Cell, Column, columns_of, flat
from rbench.results.run_directory import RunDirectory

#: A spreadsheet takes a cell that begins like this for a formula, and runs it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

T = TypeVar("T")


def export_jsonl(run: RunDirectory, target: Path | TextIO) -> int:
    """Write every record as one JSON object a line, in the order they were added.

    The fields are those of `rbench.record.EpisodeRecord`; undefined numbers are null, text is ASCII
    with JSON escapes. A file appears whole or not at all.

    Returns:
        The number of records.

    Raises:
        StartError: the file cannot be written, or the store is damaged.
    """
    return _written(target, lambda file: _write_lines(run, file))


def export_csv(run: RunDirectory, target: Path | TextIO) -> int:
    """Write the flat table (`rbench.results.columns`) as RFC 4180 says, in UTF-8, with a header.

    Null is an empty cell, booleans are true and false. Text that a spreadsheet would take for a formula gets an
    apostrophe before it.

    Returns:
        The number of records.

    Raises:
        StartError: the file cannot be written, or the store is damaged.
    """
    return _written(target, lambda file: _write_table(run, file))


def flat_table(run: RunDirectory) -> tuple[tuple[Column, ...], Iterator[dict[str, Cell]]]:
    """The columns of a run, and its rows in the order they were added.

    Read twice, so that memory does not grow with the run; both times the same episodes, also while more are added.
    """
    with run.store(readonly=True) as store:
        end = store.last_position()

    def rows() -> Iterator[dict[str, Cell]]:
        with run.store(readonly=True) as store:
            for record in store.plain_records(through=end):
                yield flat(record)

    return columns_of(rows()), rows()


def cannot_write(target: Path, problem: OSError) -> StartError:
    """A file that cannot be written, in words."""
    return StartError(
        f"cannot write {target}: {problem.strerror or problem}; choose a writable place with -o, or -o - for standard"
        " output"
    )


def encodable(text: str) -> str:
    """The text as UTF-8 can hold it: half a surrogate pair, from a path say, becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _written(target: Path | TextIO, write: Callable[[TextIO], int]) -> int:
    if not isinstance(target, Path):
        return write(target)
    try:
        with replacing(target) as file:
            return write(file)
    except OSError as problem:
        raise cannot_write(target, problem) from problem


def _write_lines(run: RunDirectory, file: TextIO) -> int:
    count = 0
    with run.store(readonly=True) as store:
        for count, record in enumerate(store.plain_records(), start=1):  # noqa: B007 - the last count is the result
            file.write(json.dumps(record, allow_nan=False) + "\n")
    return count


def _write_table(run: RunDirectory, file: TextIO) -> int:
    columns, rows = flat_table(run)
    table = csv.writer(file)
    table.writerow([encodable(column.name) for column in columns])
    count = 0
    for count, row in enumerate(rows, start=1):  # noqa: B007 - the last count is the result
        table.writerow([_csv_cell(row.get(column.name, column.absent), column) for column in columns])
    return count


def _csv_cell(value: Cell, column: Column) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if column.kind == "text":
        text = encodable(str(value))
        return f"'{text}" if text.startswith(_FORMULA) else text
    return value
