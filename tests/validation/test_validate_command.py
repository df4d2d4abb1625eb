from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from rbench.cli import main
from rbench.errors import SuiteError
from rbench.plugins.catalog import Catalog
from rbench.running.description import Part, RunDescription
from rbench.running.run import prepare
from rbench.suites.accepted import validation_line
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.validation.directory import Validation, ValidationDirectory

SMALL = "camera-distance/d0.0*/*"
ONE_REPEAT = "[validation]\nsolvable_repeats = 1\n"


def validate(*arguments: object) -> int:
    return main(["validate", *map(str, arguments)])


@pytest.fixture
def suite(looked_at: Callable[..., Suite], tmp_path: Path) -> str:
    looked_at(more=ONE_REPEAT)
    return str(tmp_path / "looked-at.toml")


@pytest.mark.gl
def test_verdicts_and_pictures_are_the_same_twice_and_for_any_number_of_workers(suite: str, tmp_path: Path) -> None:
    for name, workers in (("one", 1), ("again", 1), ("two", 2)):
        assert validate(suite, "-o", tmp_path / name, "--instances", SMALL, "--no-expert", "--workers", workers) == 0
    one, again, two = (tmp_path / name for name in ("one", "again", "two"))
    assert (one / "verdicts.jsonl").read_bytes() == (again / "verdicts.jsonl").read_bytes()
    assert (one / "verdicts.jsonl").read_bytes() == (two / "verdicts.jsonl").read_bytes()
    names = sorted(p.name for p in (one / "images").iterdir())
    assert names == sorted(p.name for p in (two / "images").iterdir())
    assert all((one / "images" / n).read_bytes() == (two / "images" / n).read_bytes() for n in names)


@pytest.mark.gl
def test_a_validated_suite_says_so_in_show_and_in_its_runs(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], catalog: Catalog
) -> None:
    out = tmp_path / "out"
    assert validate(suite, "-o", out, "--workers", 1) == 0
    printed = capsys.readouterr()
    assert "measured" in printed.out and "solvable" in printed.out
    assert f"put {out / 'looked-at.validation.json'} beside" in printed.err
    with Image.open(out / "contact-sheet.png") as sheet:
        assert sheet.width > 200
    description = RunDescription(suite, Part("idle"))
    assert prepare(catalog, description).manifest.validated is None

    shutil.copy(out / "looked-at.validation.json", tmp_path)
    main(["show", suite, "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["validated"]["stages"]["measured"]["pass_rate"] == 1.0
    manifest = prepare(catalog, description).manifest
    assert validation_line(manifest.validated).startswith("suite validated: measured 100.0 % of 9;")

    changed = Path(suite).read_text().replace("limit = 15.0", "limit = 16.0")
    Path(suite).write_text(changed)
    assert load_suite(catalog, suite).validated is None


@pytest.mark.gl
def test_a_suite_below_its_rule_ends_with_1_and_says_what_to_change(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert validate(suite, "-o", out, "--no-expert", "--workers", 1) == 0
    Path(suite).write_text(Path(suite).read_text() + "width = 30\n")
    capsys.readouterr()
    assert validate(suite, "-o", out, "--no-expert", "--workers", 1, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    measured = found["stages"]["measured"]
    assert found["iteration"] == 2
    assert (found["accepted"], measured["accepted"]) == (False, False)
    assert any("bring the camera nearer" in line for line in measured["suggestions"])
    assert {reason for row in measured["failing"] for reason in row["cameras"]["front"]} == {"object small"}
    earlier = [json.loads(line) for line in (out / "iterations.jsonl").read_text().splitlines()]
    assert [(e["iteration"], e["pass_rates"]["measured"], e["accepted"]) for e in earlier] == [(1, 1.0, True)]


@pytest.mark.gl
def test_a_second_call_looks_at_nothing_again_and_asks(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (suite, "-o", tmp_path / "out", "--instances", SMALL, "--no-expert", "--workers", 1)
    assert validate(*arguments) == 0
    before = (tmp_path / "out" / "verdicts.jsonl").read_bytes()
    capsys.readouterr()
    assert validate(*arguments, "--vision", "opencv", "--json") == 0
    printed = capsys.readouterr()
    assert "looked at" not in printed.err and "answered" in printed.err
    stage = json.loads(printed.out)["stages"]["model"]
    assert (stage["vision"], stage["pass_rate"]) == ("rbench/opencv", 1.0)
    assert (tmp_path / "out" / "verdicts.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nosuch"], "nosuch"),
        (["roboview-bias", "--dimension", "colour"], "color"),
        (["roboview-bias", "--instances", "color/rde/*"], "color/rde/*"),
        (["roboview-bias", "--sample", "many"], "all"),
        (["roboview-bias", "-v", "contrast=3"], "--vision"),
        (["roboview-bias", "--vision", "opencv", "-v", "nonsense=3"], "nonsense"),
    ],
)
def test_wrong_use_is_said_before_any_work(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert validate(*arguments, "-o", tmp_path / "out") == 2
    assert said in capsys.readouterr().err


def test_a_folder_with_a_validation_of_another_suite_is_refused_and_stays_as_it_is(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    old = Validation(
        suite="hostile",
        suite_hash="0" * 64,
        source="hostile.toml",
        render="standard",
        instances=3,
        whole=True,
        cameras=("front",),
        thresholds={},
        rule=0.95,
    )
    ValidationDirectory.create(out).write(old)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert validate(suite, "-o", out, "--no-expert") == 2
    assert f"{out} holds a validation of 'hostile'; give another -o" in capsys.readouterr().err.replace("\n", " ")
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_suite_that_looks_through_nothing_is_refused(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(suite).write_text(Path(suite).read_text().replace('viewpoint_cameras = ["front"]\n', ""))
    assert validate(suite, "-o", tmp_path / "out") == 2
    assert "viewpoint_cameras" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1, "suite_hash": "HASH"}', "[" * 5000])
def test_a_damaged_accepted_validation_is_refused_by_name(
    text: str, suite: str, tmp_path: Path, catalog: Catalog
) -> None:
    found = load_suite(catalog, suite).hash
    (tmp_path / "looked-at.validation.json").write_text(text.replace("HASH", found))
    with pytest.raises(SuiteError, match=r"looked-at\.validation\.json"):
        load_suite(catalog, suite)


def test_the_rules_are_no_part_of_the_hash(looked_at: Callable[..., Suite]) -> None:
    assert looked_at().hash == looked_at(more="[validation]\nwidth = 3\n").hash


@pytest.mark.parametrize(
    "line", ["width = -1", "contrast = nan", "object_visible = 1.5", "wdith = 3", 'box_words = ""']
)
def test_impossible_rules_are_refused_with_their_line(line: str, looked_at: Callable[..., Suite]) -> None:
    with pytest.raises(SuiteError, match=r"validation\."):
        looked_at(more=f"[validation]\n{line}\n")
