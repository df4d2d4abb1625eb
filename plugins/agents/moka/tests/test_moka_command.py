"""The whole way through the command line: a scripted model, perfect perception, records, and the table of stages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rbench.cli import main
from rbench.errors import StartError
from rbench.simulation.gl import choose_gl

pytestmark = pytest.mark.gl
MODEL = Path(__file__).parent / "moka_scripted_model.py"


@pytest.fixture
def model_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    try:
        choose_gl()
    except StartError as problem:
        pytest.skip(str(problem))
    (tmp_path / MODEL.name).write_text(MODEL.read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options: str) -> int:
    return main(["run", "roboview-bias", "--agent", "moka", "--executor", "serial", "--out", "made", *options])


def test_a_scripted_model_and_perfect_perception_do_the_task(
    model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(
        "--vision",
        "moka_scripted_model:Model",
        *("-o", "detector=ground-truth", "-o", "segmenter=ground-truth", "--limit", "2"),
    )
    printed = capsys.readouterr().out
    assert code == 0
    assert "success 2" in printed
    assert "privileged" in printed
    assert "where episodes are lost (detector ground-truth, segmenter ground-truth)" in printed


def test_every_record_says_what_was_asked_seen_and_true(model_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--limit", "1") == 0
    capsys.readouterr()
    assert main(["export", "made", "--format", "jsonl", "-o", "-"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[0])
    report = record["agent"]["report"]
    assert [q["question"] for q in report["questions"]] == ["moka.plan/1", "moka.filter/1", "moka.motion/1"]
    assert report["perception"] == {"detector": "opencv", "segmenter": "opencv"}
    assert record["agent"]["truth"]["lost_at"] is None
    assert {stage["stage"] for stage in report["stages"]} == {"plan", "detect", "segment", "lift", "grasp"}
