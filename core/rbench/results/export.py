"""Export: the records of a run for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TextIO

from rbench.errors import StartError
from rbench.results.atomic import replacing
from rbench.results.run_directory import RunDirectory


def export_jsonl(run: RunDirectory, target: Path | TextIO) -> int:
    """Write every record as one JSON object a line, in the order they were added.

    The fields are those of `rbench.record.EpisodeRecord`; undefined numbers are null, text is ASCII
    with JSON escapes. A file appears whole or not at all.

    Returns:
        The number of records.

    Raises:
        StartError: the file cannot be written.
    """
    if not isinstance(target, Path):
        return _write_lines(run, target)
    try:
        with replacing(target) as file:
            return _write_lines(run, file)
    except OSError as problem:
        raise StartError(
            f"cannot write {target}: {problem.strerror}; choose a writable place with -o, or -o - for standard output"
        ) from problem


def _write_lines(run: RunDirectory, file: TextIO) -> int:
    count = 0
    for count, record in enumerate(run.episodes(), start=1):  # noqa: B007 - the last count is the result
        file.write(json.dumps(record.to_plain(), allow_nan=False) + "\n")
    return count
