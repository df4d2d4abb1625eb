"""Export to Parquet, through PyArrow (extra `parquet`)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from rbench import __version__
from rbench.errors import StartError
from rbench.results.atomic import replacing_binary
from rbench.results.columns import Cell, Column
from rbench.results.export import cannot_write, encodable, flat_table
from rbench.results.run_directory import RunDirectory

#: Rows of one row group: some megabytes.
_GROUP = 10_000
_TYPES = {"text": "string", "json": "string", "integer": "int64", "number": "float64", "boolean": "bool_"}


def export_parquet(run: RunDirectory, target: Path | BinaryIO) -> int:
    """Write the flat table (`rbench.results.columns`) as one Parquet file.

    Each column carries its description as metadata; the table says which run, suite and agent it is of. A file appears
    whole or not at all.

    Returns:
        The number of records.

    Raises:
        StartError: PyArrow is missing, the file cannot be written, or the store is damaged.
    """
    pyarrow = _library()
    if not isinstance(target, Path):
        return _write(pyarrow, run, target)
    try:
        with replacing_binary(target) as file:
            return _write(pyarrow, run, file)
    except OSError as problem:
        raise cannot_write(target, problem) from problem


def _write(pyarrow: ModuleType, run: RunDirectory, file: BinaryIO) -> int:
    columns, rows = flat_table(run)
    schema = pyarrow.schema([_field(pyarrow, column) for column in columns], metadata=_origin(run))
    count = 0
    with importlib.import_module("pyarrow.parquet").ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(rows, _GROUP)):
            arrays = [list(_cells(group, column)) for column in columns]
            writer.write_table(pyarrow.table(arrays, schema=schema))
            count += len(group)
    return count


def _field(pyarrow: ModuleType, column: Column) -> Any:
    kind = getattr(pyarrow, _TYPES[column.kind])()
    metadata = {"description": column.description}
    if column.kind == "json":
        metadata["holds"] = "JSON"
    return pyarrow.field(encodable(column.name), kind, metadata=metadata)


def _cells(rows: list[dict[str, Cell]], column: Column) -> Iterator[Cell]:
    for row in rows:
        value = row.get(column.name, column.absent)
        if column.kind == "number" and value is not None:
            yield float(value)
        else:
            yield encodable(value) if isinstance(value, str) else value


def _origin(run: RunDirectory) -> dict[str, str]:
    manifest = run.manifest
    return {
        "rbench": __version__,
        "run": run.path.name,
        "created": manifest.created,
        "suite": manifest.suite.name,
        "suite_hash": manifest.suite.hash,
        "agent": manifest.agent.qualified,
        "seed": str(manifest.seed),
    }


def _library() -> ModuleType:
    try:
        return importlib.import_module("pyarrow")
    except ImportError as problem:
        raise StartError(
            f"Parquet needs PyArrow, which the extra rbench[parquet] names ({problem}): python3 -m pip install"
            " 'pyarrow>=17'. --format csv and jsonl need nothing more"
        ) from problem
