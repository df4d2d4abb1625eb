"""Decisions on disk: nothing is lost, nothing is deleted, whoever else writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rbench.errors import UsageError
from rbench.review.ledger import Ledger
from rbench.review.reviewers import LONGEST, file_name, reviewer_name
from rbench.validation.findings import Answer, Decision


def decision(number: int = 0, answer: Answer | None = "yes", reviewer: str = "ann") -> Decision:
    return Decision(f"color/level-{number}/base", "front", "a" * 64, reviewer, answer, 1, "2026-01-01T00:00:00+00:00")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def test_a_decision_is_on_disk_and_stands(tmp_path: Path, ledger: Ledger) -> None:
    ledger.append(decision())
    assert ledger.standing() == [decision()]
    assert json.loads((tmp_path / "ann.jsonl").read_text())["answer"] == "yes"


def test_another_ledger_sees_what_was_appended_since(tmp_path: Path, ledger: Ledger) -> None:
    other = Ledger(tmp_path)
    for number in range(3):
        ledger.append(decision(number))
        other.refresh()
        assert len(other.standing()) == number + 1


def test_taking_back_adds_a_line_and_deletes_none(tmp_path: Path, ledger: Ledger) -> None:
    ledger.append(decision())
    before = (tmp_path / "ann.jsonl").read_bytes()
    ledger.append(decision(answer=None))
    assert ledger.standing() == []
    assert (tmp_path / "ann.jsonl").read_bytes().startswith(before)


def test_what_is_said_again_becomes_the_last_that_was_said(ledger: Ledger) -> None:
    for number in (1, 2, 1):
        ledger.append(decision(number))
    assert [d.instance for d in ledger.standing()] == ["color/level-2/base", "color/level-1/base"]


def test_a_torn_last_line_costs_itself_only(tmp_path: Path, ledger: Ledger) -> None:
    ledger.append(decision(1))
    with (tmp_path / "ann.jsonl").open("ab") as file:
        file.write(b'{"instance": "color/lev')
    ledger.refresh()
    assert ledger.standing() == [decision(1)]
    ledger.append(decision(2))
    assert ledger.standing() == [decision(1), decision(2)]
    again = Ledger(tmp_path)
    again.refresh()
    assert again.standing() == [decision(1), decision(2)]


def test_a_line_that_is_still_being_written_counts_when_it_has_its_end(tmp_path: Path, ledger: Ledger) -> None:
    ledger.append(decision(1))
    line = (tmp_path / "ann.jsonl").read_bytes().replace(b"level-1", b"level-2")
    with (tmp_path / "ann.jsonl").open("ab", buffering=0) as file:
        file.write(line[:20])
        ledger.refresh()
        assert ledger.standing() == [decision(1)]
        file.write(line[20:])
    ledger.refresh()
    assert ledger.standing() == [decision(1), decision(2)]


def test_files_that_were_put_back_from_a_copy_are_read_anew(tmp_path: Path, ledger: Ledger) -> None:
    ledger.append(decision(1))
    old = (tmp_path / "ann.jsonl").read_bytes()
    ledger.append(decision(2))
    (tmp_path / "ann.jsonl").write_bytes(old)
    ledger.refresh()
    assert ledger.standing() == [decision(1)]


def test_a_line_that_is_no_decision_is_named(tmp_path: Path, ledger: Ledger) -> None:
    (tmp_path / "ann.jsonl").write_text('{"answer": "maybe"}\n')
    with pytest.raises(UsageError, match=r"ann\.jsonl holds a line that is no decision .* remove that line"):
        ledger.refresh()


def test_several_processes_lose_no_line_of_the_same_reviewer(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from rbench.review.ledger import Ledger
from rbench.validation.findings import Decision
who, ledger = sys.argv[1], Ledger(Path(sys.argv[2]))
for number in range(40):
    ledger.append(Decision(f"color/{who}-{number}/base", "front", "a" * 64, "ann", "yes", 1, ""))
"""
    processes = [subprocess.Popen([sys.executable, "-c", code, who, str(tmp_path)]) for who in "abc"]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    ledger = Ledger(tmp_path)
    ledger.refresh()
    said = {d.instance for d in ledger.standing()}
    assert said == {f"color/{who}-{number}/base" for who in "abc" for number in range(40)}
    assert all(json.loads(line) for line in (tmp_path / "ann.jsonl").read_text().splitlines())


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "/root", "a/b", ".", "..", "<b>ann</b>", "Ann", "安", "con.", "x" * LONGEST, "a\u202eb"],
)
def test_any_name_stays_in_its_folder_and_comes_back_as_typed(tmp_path: Path, ledger: Ledger, name: str) -> None:
    assert Path(file_name(name)).name == file_name(name)
    ledger.append(decision(reviewer=reviewer_name(name)))
    again = Ledger(tmp_path)
    again.refresh()
    assert [d.reviewer for d in again.standing()] == [name]
    assert len(list(tmp_path.iterdir())) == 1


def test_names_that_look_alike_in_a_file_name_have_files_of_their_own() -> None:
    names = ["a b", "a-b", "a/b", "A B", "a  b"]
    assert len({file_name(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["", "  ", "x" * (LONGEST + 1), "a\x00b", "a\nb", "\ud800", None, 7])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(UsageError, match="name"):
        reviewer_name(name)


def test_a_name_is_the_same_however_it_was_composed() -> None:
    assert reviewer_name(" Zoe\u0308 ") == reviewer_name("Zo\u00eb")
