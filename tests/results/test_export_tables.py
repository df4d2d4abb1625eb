"""Flat tables: CSV and Parquet hold what the JSON lines hold, with columns that depend on nothing but their names."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.errors import StartError
from rbench.record import EpisodeRecord, Event, Hashes
from rbench.results.columns import DICTIONARY, columns_of, flat
from rbench.results.export import export_csv, export_jsonl
from rbench.results.parquet import export_parquet
from rbench.results.run_directory import RunDirectory
from rbench.scene import Jitter

Record = Callable[..., EpisodeRecord]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "results.md"


@pytest.fixture
def run(run_directory: RunDirectory, record: Record) -> RunDirectory:
    store = run_directory.store()
    store.append(record(0, agent={"calls": 3, "clipped": 0, "report": {"questions": [1, None]}}), b"")
    store.append(
        record(
            1,
            "agent_error",
            error='a "quoted", line\nbreak – 把方块 \udc80',
            events=(),
            jitter={"geometry": Jitter(1e-17, -0.25, 0.0), "box": Jitter(0.0, 0.0, 1.0)},
            values={"color": [255, 0, 0], "position": None},
            hashes=Hashes("5c", "57"),
        ),
        b"",
    )
    store.append(
        record(
            2,
            "infrastructure_error",
            score=float("nan"),
            events=(Event(0.1, "unreachable"), Event(0.2, "unreachable")),
            timing={"total": 2.0},
        ),
        b"",
    )
    return run_directory


@pytest.fixture
def lines(run: RunDirectory) -> list[dict[str, Any]]:
    stream = io.StringIO()
    export_jsonl(run, stream)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def expected(line: dict[str, Any]) -> dict[str, Any]:
    """A JSON line by column, worked out another way than the code does."""
    cells: dict[str, Any] = {}

    def spread(prefix: str, value: Any) -> None:
        whole = prefix.startswith(("values.", "agent.")) and prefix not in ("agent.calls", "agent.clipped")
        if isinstance(value, dict) and not whole:
            for key, item in value.items():
                spread(f"{prefix}.{key}" if prefix else key, item)
        elif prefix == "events":
            cells.update({f"events.{name}": n for name, n in Counter(e["name"] for e in value).items()})
        else:
            cells[prefix] = value

    spread("", line)
    return cells


def test_csv_holds_what_the_json_lines_hold(run: RunDirectory, lines: list[dict[str, Any]], tmp_path: Path) -> None:
    assert export_csv(run, tmp_path / "out.csv") == 3
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, line in zip(rows, lines, strict=True):
        wanted = expected(line)
        assert wanted.keys() <= row.keys()
        for name, text in row.items():
            value = wanted.get(name, 0 if name.startswith("events.") else None)
            if value is None:
                assert text == "", name
            elif name in ("error", "instruction"):
                assert text == value.replace("\udc80", "\\udc80")
            elif isinstance(value, str) and not name.startswith("values."):
                assert text == value
            else:
                assert json.loads(text) == value, name


def test_parquet_holds_what_the_json_lines_hold(run: RunDirectory, lines: list[dict[str, Any]], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert export_parquet(run, tmp_path / "out.parquet") == 3
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    for row, line in zip(rows, lines, strict=True):
        wanted = expected(line)
        assert wanted.keys() <= row.keys()
        for name, cell in row.items():
            value = wanted.get(name, 0 if name.startswith("events.") else None)
            if name.startswith(("values.", "agent.report")) and cell is not None:
                cell = json.loads(cell)
            assert cell == (value.replace("\udc80", "\\udc80") if name == "error" and value else value), name


def test_the_types_of_columns_follow_from_their_names(run: RunDirectory, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export_parquet(run, tmp_path / "out.parquet")
    schema = parquet.read_schema(tmp_path / "out.parquet")
    types = {name: str(schema.field(name).type) for name in schema.names}
    assert types["repeat"] == types["events.unreachable"] == types["agent.calls"] == "int64"
    assert types["score"] == types["jitter.box.yaw"] == types["timing.total"] == types["sim_seconds"] == "double"
    assert types["success"] == "bool"
    assert (
        types["levels.color"]
        == types["values.color"]
        == types["error"]
        == types["hashes.first_frame.front"]
        == "string"
    )
    assert all(schema.field(name).metadata[b"description"] for name in schema.names)
    assert schema.field("values.color").metadata[b"holds"] == b"JSON"
    assert schema.metadata[b"suite"] == b"tiny-suite"
    assert schema.metadata[b"agent"] == b"some-agents/expert"


def test_the_order_of_columns_does_not_depend_on_the_order_of_rows(run: RunDirectory) -> None:
    rows = [flat(record.to_plain()) for record in run.episodes()]
    forward, backward = columns_of(rows), columns_of(rows[::-1])
    assert forward == backward
    names = [column.name for column in forward]
    assert names[:6] == ["episode", "instance", "repeat", "task", "dimension", "context"]
    assert names.index("levels.color") < names.index("levels.position") < names.index("values.color")
    assert len(names) == len(set(names))


def test_every_cell_has_a_column(run: RunDirectory) -> None:
    rows = [flat(record.to_plain()) for record in run.episodes()]
    columns = {column.name for column in columns_of(rows)}
    assert set().union(*rows) <= columns


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_csv_text_is_no_formula(run_directory: RunDirectory, record: Record, start: str) -> None:
    run_directory.store().append(record(0, instruction=start, error=start), b"")
    stream = io.StringIO(newline="")
    export_csv(run_directory, stream)
    (row,) = csv.DictReader(io.StringIO(stream.getvalue(), newline=""))
    assert row["instruction"] == row["error"] == f"'{start}"
    assert row["jitter.geometry.y"] == "-0.002"  # a number is no text


def test_csv_lines_end_as_the_standard_says(run: RunDirectory, tmp_path: Path) -> None:
    export_csv(run, tmp_path / "out.csv")
    content = (tmp_path / "out.csv").read_bytes()
    assert content.count(b"\r\n") == 4
    assert not content.startswith(b"\xef\xbb\xbf")
    content.decode("utf-8")


def test_an_empty_run_has_a_header(run_directory: RunDirectory, tmp_path: Path) -> None:
    assert export_csv(run_directory, tmp_path / "out.csv") == 0
    assert (tmp_path / "out.csv").read_text().startswith("episode,instance,repeat")
    parquet = pytest.importorskip("pyarrow.parquet")
    export_parquet(run_directory, tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet").num_rows == 0


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_failing_export_leaves_the_old_file(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    pytest.importorskip("pyarrow")
    target = tmp_path / f"out.{form}"
    target.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rbench.results.atomic.os.fsync", full)
    with pytest.raises(StartError, match=r"out\..*: No space left on device; choose"):
        {"csv": export_csv, "parquet": export_parquet}[form](run, target)
    assert target.read_text() == "old"
    assert {p.name for p in tmp_path.iterdir()} == {target.name, "run"}


def test_parquet_without_its_library_says_what_to_install(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(StartError, match=r"rbench\[parquet\].*pip install 'pyarrow"):
        export_parquet(run, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_standard_output_gets_the_bytes_of_the_file(
    run: RunDirectory, tmp_path: Path, form: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / f"out.{form}"
    assert main(["export", str(run.path), "-o", str(file)]) == 0  # the suffix says the format
    capfdbinary.readouterr()
    assert main(["export", str(run.path), "--format", form, "-o", "-"]) == 0
    assert capfdbinary.readouterr().out == file.read_bytes()


def test_the_documentation_has_every_column() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for entry in DICTIONARY:
        name = entry.name if hasattr(entry, "name") else f"{entry.prefix}."
        assert f"`{name}" in text, name
