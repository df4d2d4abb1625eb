"""`rbench report`, `status` and `export` as a user calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.cli import main
from rbench.results.run_directory import RunDirectory, open_run

MakeRun = Callable[..., Path]
FULL = ["success", "success", "success", "failure"] * 7


def test_report_prints_a_table(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(make_run(FULL))]) == 0
    printed = capsys.readouterr()
    assert "tiny-suite: expert" in printed.out
    assert printed.err == ""


def test_report_of_several_runs_is_a_json_list(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = make_run(FULL, "first"), make_run(FULL[:9], "second")
    assert main(["report", str(first), str(second), "--format", "json", "--convention", "paper"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(s["run"], s["convention"], s["counts"]["missing"]) for s in found] == [
        (str(first), "paper", 0),
        (str(second), "paper", 19),
    ]


@pytest.mark.parametrize("form", ["table", "json"])
def test_report_goes_to_a_file(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str
) -> None:
    path, target = make_run(FULL), tmp_path / "report.out"
    assert main(["report", str(path), "--format", form]) == 0
    expected = capsys.readouterr().out
    assert main(["report", str(path), "--format", form, "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text() == expected


@pytest.mark.parametrize("form", ["table", "json"])
def test_report_without_its_metric_prints_the_rest_and_fails(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert main(["report", str(make_run(FULL, metrics=("no-such-metric",))), "--format", form]) == 1
    printed = capsys.readouterr()
    assert "no-such-metric" in printed.out + printed.err
    assert "21" in printed.out


def test_status_as_json(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(make_run(FULL[:10])), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["state"] == "finished"
    assert found["counts"] == {
        "planned": 28,
        "done": 10,
        "missing": 18,
        "success": 8,
        "failure": 2,
        "agent_error": 0,
        "unstable": 0,
        "infrastructure_error": 0,
    }


def test_status_says_what_its_interval_is_of(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_run(FULL[:10])
    assert main(["status", str(path)]) == 0
    assert "success 80.0 % [49.0, 94.3] of all episodes (Wilson's interval, episodes taken" in capsys.readouterr().out
    assert main(["status", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["success_rate_interval_over"] == "episodes"


def test_status_of_a_run_that_is_written(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_run(FULL[:10], state="running")
    assert main(["status", str(path)]) == 0
    assert capsys.readouterr().out.startswith("interrupted: 10 of 28 episodes, 18 missing (success 8, failure 2")
    with open_run(path) as writer:
        writer.store()
        assert main(["status", str(path)]) == 0
    assert capsys.readouterr().out.startswith("running: ")


def test_export_writes_a_line_an_episode(make_run: MakeRun, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, target = make_run(FULL), tmp_path / "out.jsonl"
    assert main(["export", str(path), "--format", "jsonl", "-o", str(target)]) == 0
    assert len([json.loads(line) for line in target.read_text().splitlines()]) == 28
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "28 episodes" in printed.err
    assert main(["export", str(path), "-o", "-"]) == 0
    assert capsys.readouterr().out == target.read_text()


@pytest.mark.parametrize("command", [["report"], ["status"], ["export", "-o", "-"]], ids=lambda c: c[0])
def test_a_folder_without_a_run_is_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert main([*command, str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert str(tmp_path) in printed.err
    assert "give a run directory" in printed.err


@pytest.mark.parametrize(
    "arguments", [["report", "--format", "docx"], ["export", "--format", "xml", "-o", "x"]], ids=" ".join
)
def test_formats_that_do_not_exist_are_not_offered(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main([*arguments, str(make_run(FULL))]) == 2
    assert "--format" in capsys.readouterr().err


def test_commands_write_nothing_into_the_run(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_run(FULL)
    before = {p: p.stat().st_mtime_ns for p in path.rglob("*")}
    for command in (["report"], ["status"], ["export", "-o", "-"]):
        assert main([*command, str(path)]) == 0
    assert {p: p.stat().st_mtime_ns for p in path.rglob("*")} == before


def test_unwritable_report_file_cannot_start(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["report", str(make_run(FULL)), "-o", str(tmp_path / "no" / "report.txt")]) == 3
    assert "choose another -o" in capsys.readouterr().err


def test_a_run_directory_is_open_for_reading_by_default(make_run: MakeRun) -> None:
    path = make_run(FULL)
    with RunDirectory.open(path) as first, RunDirectory.open(path) as second:
        assert len(list(first.episodes())) == len(list(second.episodes())) == 28
