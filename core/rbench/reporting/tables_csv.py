"""Every plotted number as CSV: a folder or a zip file with one file a table."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rbench.reporting.plotted import Table, tables
from rbench.reporting.printable import printable
from rbench.reporting.run_report import RunReport
from rbench.results.atomic import replacing, replacing_binary

#: The same bytes from the same numbers: zip files hold times.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def write_csv(reports: Sequence[RunReport], place: Path) -> list[Path]:
    """Write `NAME.csv` for each table that has rows, and `contents.csv`, which says what is in them.

    Args:
        reports: from `rbench.reporting.run_report.gather`.
        place: a folder, made when it is not there, or a path that ends in `.zip`.

    Returns:
        The files written.

    Raises:
        OSError: they cannot be written.
    """
    found = csv_files(tables(reports))
    if place.suffix.lower() == ".zip":
        _write_zip(place, found)
        return [place]
    place.mkdir(parents=True, exist_ok=True)
    for name, text in found.items():
        with replacing(place / name) as file:
            file.write(text)
    return [place / name for name in found]


def csv_files(found: Mapping[str, Table]) -> dict[str, str]:
    """Text of each file by its name. Empty cells are undefined numbers."""
    shown = [table for table in found.values() if table.rows]
    contents = [(f"{table.name}.csv", len(table.rows), table.about, " ".join(table.columns)) for table in shown]
    files = {"contents.csv": _text(("file", "rows", "about", "columns"), contents)}
    return {**files, **{f"{table.name}.csv": _text(table.columns, table.rows) for table in shown}}


def _text(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([printable(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return buffer.getvalue()


def _write_zip(path: Path, files: Mapping[str, str]) -> None:
    with replacing_binary(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(f"{path.stem}/{name}", _NO_TIME)
            archive.writestr(entry, text.encode(), zipfile.ZIP_DEFLATED)
