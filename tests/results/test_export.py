"""Export: one JSON object a line, whole or not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.errors import StartError
from rbench.record import EpisodeRecord
from rbench.results.export import export_jsonl
from rbench.results.run_directory import RunDirectory

FIELDS = [
    "episode",
    "instance",
    "repeat",
    "task",
    "dimension",
    "context",
    "levels",
    "values",
    "jitter",
    "seed",
    "outcome",
    "reason",
    "success",
    "score",
    "steps",
    "sim_seconds",
    "events",
    "instruction",
    "hashes",
    "error",
    "agent",
    "timing",
]


@pytest.fixture
def run(run_directory: RunDirectory, record: Callable[..., EpisodeRecord]) -> RunDirectory:
    for i, outcome in enumerate(["success", "agent_error", "infrastructure_error"]):
        run_directory.store().append(record(i, outcome, error="line\nbreak \u2028 \udc80" if i else None), b"")
    return run_directory


def test_every_record_is_a_line_with_every_field(run: RunDirectory, tmp_path: Path) -> None:
    assert export_jsonl(run, tmp_path / "out.jsonl") == 3
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert [list(line) for line in lines] == [FIELDS] * 3
    assert [line["outcome"] for line in lines] == ["success", "agent_error", "infrastructure_error"]
    assert lines[0]["hashes"] == {"scene": "5c", "state": "57", "first_frame": {"front": "f1"}}
    assert lines[0]["jitter"] == {"geometry": {"x": 0.001, "y": -0.002, "yaw": 3.5}}
    assert EpisodeRecord.from_plain(lines[1]) == list(run.episodes())[1]


def test_standard_output_gets_the_same_lines(run: RunDirectory, tmp_path: Path) -> None:
    stream = io.StringIO()
    export_jsonl(run, stream)
    export_jsonl(run, tmp_path / "out.jsonl")
    assert stream.getvalue() == (tmp_path / "out.jsonl").read_text()


def test_a_failing_export_leaves_the_old_file(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rbench.results.atomic.os.fsync", full)
    with pytest.raises(StartError, match=r"out\.jsonl: No space left on device; choose"):
        export_jsonl(run, target)
    assert target.read_text() == "old"
    assert {p.name for p in tmp_path.iterdir()} == {"out.jsonl", "run"}


def test_missing_folder_is_named(run: RunDirectory, tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"nowhere.*choose a writable place"):
        export_jsonl(run, tmp_path / "nowhere" / "out.jsonl")
