"""CSV of every plotted number, as a folder or a zip file."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.cli import main

WriteRun = Callable[..., Path]


def test_a_folder_below_the_run_by_default(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(judged), "--format", "csv"]) == 0
    folder = judged / "report" / "csv"
    assert {path.name for path in folder.iterdir()} == {
        "contents.csv",
        "contexts.csv",
        "dimensions.csv",
        "events.csv",
        "grid.csv",
        "groups.csv",
        "interactions.csv",
        "levels.csv",
        "outcomes.csv",
        "reasons.csv",
    }
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{folder} (10 files)" in printed.err


def test_contents_say_what_is_in_each_file(judged: Path, tmp_path: Path) -> None:
    assert main(["report", str(judged), "--format", "csv", "-o", str(tmp_path / "csv")]) == 0
    with (tmp_path / "csv" / "contents.csv").open(newline="") as file:
        contents = list(csv.DictReader(file))
    for entry in contents:
        with (tmp_path / "csv" / entry["file"]).open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == entry["columns"].split()
        assert len(rows) - 1 == int(entry["rows"])
        assert entry["about"]


def test_intervals_of_levels_are_those_of_the_json(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(judged), "--format", "json"]) == 0
    dimensions = json.loads(capsys.readouterr().out)[0]["dimensions"]
    assert main(["report", str(judged), "--format", "csv", "-o", str(tmp_path / "csv")]) == 0
    with (tmp_path / "csv" / "levels.csv").open(newline="") as file:
        rows = {(row["dimension"], row["level"]): row for row in csv.DictReader(file)}
    ends = [(name, end) for name, row in dimensions.items() for end in row["worst_levels"] + row["best_levels"]]
    assert len(ends) > 8
    for name, end in ends:
        row = rows[name, end["level"]]
        assert [float(row["interval_low"]), float(row["interval_high"])] == end["interval"]
        assert float(row["interval_low"]) <= float(row["low"]) <= float(row["success_rate"]) <= float(row["high"])
    assert all(row["interval_high"] for row in rows.values())


def test_without_a_metric_levels_have_only_intervals_of_their_own(write_run: WriteRun, tmp_path: Path) -> None:
    assert main(["report", str(write_run()), "--format", "csv", "-o", str(tmp_path / "csv")]) == 0
    with (tmp_path / "csv" / "levels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["interval_low"], row["interval_high"]) for row in rows} == {("", "")}
    assert all(row["low"] for row in rows)


def test_a_zip_holds_the_same_files_and_the_same_bytes_each_time(judged: Path, tmp_path: Path) -> None:
    for name in ("a/numbers.zip", "b/numbers.zip"):
        (tmp_path / name).parent.mkdir()
        assert main(["report", str(judged), "--format", "csv", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a/numbers.zip").read_bytes() == (tmp_path / "b/numbers.zip").read_bytes()
    assert main(["report", str(judged), "--format", "csv", "-o", str(tmp_path / "csv")]) == 0
    with zipfile.ZipFile(tmp_path / "a/numbers.zip") as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == {f"numbers/{path.name}": path.read_bytes() for path in (tmp_path / "csv").iterdir()}


def test_text_with_commas_quotes_and_lines_comes_back(write_run: WriteRun, tmp_path: Path) -> None:
    reason = 'a, "b"\n=c;\td\u2028é🤖'
    path = write_run(rule=lambda d, levels, c, repeat: ("failure", reason))
    assert main(["report", str(path), "--format", "csv", "-o", str(tmp_path / "csv")]) == 0
    with (tmp_path / "csv" / "reasons.csv").open(newline="", encoding="utf-8") as file:
        assert {row["reason"] for row in csv.DictReader(file)} == {reason}


def test_a_place_that_cannot_be_written_is_named(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    for form in ("csv", "html", "figures"):
        arguments = [
            "report",
            str(write_run(form)),
            "--format",
            form,
            "-o",
            str(tmp_path / "file" / "x"),
            "--no-pictures",
        ]
        assert main(arguments) == 3
        assert "choose another -o" in capsys.readouterr().err
