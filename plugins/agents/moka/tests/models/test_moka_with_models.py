"""One episode in the simulator through real tensors of either family: from picture to motion."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.errors import StartError
from rbench.simulation.gl import choose_gl

# The libraries warn of their own affairs.
pytestmark = [pytest.mark.gl, pytest.mark.filterwarnings("ignore")]
MODEL = Path(__file__).parents[1] / "moka_scripted_model.py"
#: Masks of random weights are anywhere, and so are the marks: it chooses the first without looking.
SURE = """
from moka_scripted_model import Model as Looking


class Model(Looking):
    @staticmethod
    def marks(image):
        return True, True
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    try:
        choose_gl()
    except StartError as problem:
        pytest.skip(str(problem))
    shutil.copy(MODEL, tmp_path)
    (tmp_path / "sure_model.py").write_text(SURE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def played(weights: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """The record of one episode that sees with the weights of a folder."""
    # Scores of random weights mean nothing: whatever is found counts.
    given = {"weights": weights, "box_threshold": 0.01, "retry_threshold": 0.001, "height": 128, "width": 128}
    chosen = [part for name, value in given.items() for part in ("-o", f"{name}={value}")]
    arguments = ["--agent", "moka", *chosen, *options, "--limit", "1", "--executor", "serial", "--out", "made"]
    code = main(["run", "roboview-bias", *arguments, "--vision", "sure_model:Model"])
    assert code == 0
    capsys.readouterr()
    assert main(["export", "made", "--format", "jsonl", "-o", "-"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    record: dict[str, Any] = json.loads(line)
    return record


def test_transformers(transformers_weights: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = played(transformers_weights, capsys)
    _check(record, {"detector": "transformers", "segmenter": "transformers"})
    assert set(record["agent"]["report"]["weights"]) == {
        "grounding-dino-tiny/model.safetensors",
        "sam-vit-base/model.safetensors",
    }


def test_the_original_packages(
    original_weights: Path, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rbench_agent_moka.backends.groundingdino.SHORT_SIDE", 128)
    record = played(original_weights, capsys)
    _check(record, {"detector": "groundingdino-py", "segmenter": "segment-anything"})
    assert {"groundingdino_tiny.pth", "sam_tiny.pth"} <= set(record["agent"]["report"]["weights"])


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_bad_file_stops_the_run_before_its_first_episode(
    how: str,
    transformers_weights: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = shutil.copytree(transformers_weights, here / "weights")
    (copy / "sam-vit-base" / "model.safetensors").write_text("<html>404</html>")
    given = ["-o", f"weights={copy}"] if how == "option" else []
    if how == "environment":
        monkeypatch.setenv("RBENCH_WEIGHTS", str(copy))
    arguments = ["--agent", "moka", *given, "--limit", "1", "--executor", "serial", "--out", "made"]
    code = main(["run", "roboview-bias", *arguments])
    said = capsys.readouterr().err
    assert code == 3
    assert "sam-vit-base/model.safetensors: it is a web page" in said
    assert "Traceback" not in said


def _check(record: dict[str, Any], perception: dict[str, str]) -> None:
    assert record["outcome"] in ("success", "failure")
    report = record["agent"]["report"]
    assert report["perception"] == perception
    (subtask,) = report["subtasks"]
    assert subtask["boxes"].keys() == {"geometry", "box"}
    assert "motion" in subtask
    assert report["phases"]
    assert {"detect", "segment", "lift", "grasp"} <= {stage["stage"] for stage in report["stages"]}
