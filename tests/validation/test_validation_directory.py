from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rbench.errors import RbenchError, StartError, UsageError
from rbench.validation.directory import Validation, ValidationDirectory, append_line
from rbench.validation.findings import Decision, Finding, QueueItem

VALIDATION = Validation(
    suite="s", suite_hash="h", source="s.toml", render="standard", instances=1, whole=True,
    cameras=("front",), thresholds={"width": 10.0}, rule=0.95,
)  # fmt: skip
FINDING = Finding(
    "color/red/base", "front", "color", "base", "</script>\u202e\x1b[2J", {"color": "red"},
    "images/a.png", "a" * 64, False, ("object small",), (), {"picture": {"near": 0.0}},
)  # fmt: skip
ITEM = QueueItem("color/red/base", "front", "Put it there.", "images/a.png", "a" * 64, ("sample",))


def decision(answer: str | None, reviewer: str = "ann", reading: int = 1) -> Decision:
    return Decision("color/red/base", "front", "a" * 64, reviewer, answer, reading)  # type: ignore[arg-type]


@pytest.fixture
def directory(tmp_path: Path) -> ValidationDirectory:
    made = ValidationDirectory.create(tmp_path / "v")
    made.write(VALIDATION)
    return made


def test_what_is_written_is_read_back(directory: ValidationDirectory) -> None:
    directory.write_findings([FINDING])
    directory.write_queue([ITEM])
    opened = ValidationDirectory.open(directory.path)
    assert opened.validation() == VALIDATION
    assert list(opened.findings()) == [FINDING]
    assert list(opened.queue()) == [ITEM]


def test_text_of_whatever_kind_is_kept_in_ascii(directory: ValidationDirectory) -> None:
    directory.write_findings([FINDING])
    assert (directory.path / "verdicts.jsonl").read_bytes().isascii()


def test_the_last_decision_of_a_reviewer_counts(directory: ValidationDirectory) -> None:
    file = directory.path / "decisions" / "ann.jsonl"
    for answer in ("no", "yes"):
        append_line(file, decision(answer))
    append_line(directory.path / "decisions" / "bob.jsonl", decision("unsure", "bob"))
    assert [(d.reviewer, d.answer) for d in directory.decisions()] == [("ann", "yes"), ("bob", "unsure")]
    append_line(file, decision(None))
    assert [d.reviewer for d in directory.decisions()] == ["bob"]


def test_a_line_that_a_crash_cut_short_costs_itself_only(directory: ValidationDirectory) -> None:
    file = directory.path / "decisions" / "ann.jsonl"
    append_line(file, decision("yes"))
    with file.open("ab") as broken:
        broken.write(b'{"instance": "color/re')
    append_line(file, decision("no", reading=2))
    assert [(d.answer, d.reading) for d in directory.decisions()] == [("yes", 1), ("no", 2)]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "1"}', '{"schema": 1, "suite": 3}', "[" * 5000])
def test_a_damaged_manifest_is_refused_by_name(directory: ValidationDirectory, text: str) -> None:
    (directory.path / "validation.json").write_text(text)
    with pytest.raises(UsageError, match=r"validation\.json"):
        directory.validation()


def test_a_newer_manifest_is_refused(directory: ValidationDirectory) -> None:
    directory.write(replace(VALIDATION, schema=99))
    with pytest.raises(StartError, match="newer rbench"):
        directory.validation()


def test_a_picture_outside_the_folder_of_pictures_is_refused(directory: ValidationDirectory) -> None:
    with pytest.raises(UsageError, match="no picture of"):
        directory.image(replace(ITEM, image="images/../../secret.png"))


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds something else"):
        ValidationDirectory.create(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("")
    with pytest.raises(RbenchError, match="v"):
        ValidationDirectory.create(tmp_path / "v")


def test_a_folder_without_a_validation_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rbench validate SUITE"):
        ValidationDirectory.open(tmp_path)
