"""Runs of agents whose answers come out of a file: which file, and that it stays the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rbench.errors import StartError
from rbench.running.description import Part, RunDescription
from rbench.running.job import Job

WEIGHED = ("run", "roboview-bias", "--agent", "agents_with_weights:Weighed")


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file in a folder of its own."""
    file = tmp_path / "elsewhere" / "w.bin"
    file.parent.mkdir()
    file.write_bytes(b"first")
    return file


@pytest.fixture
def run(rbench_command: Callable[..., Any], weights: Path, tmp_path: Path) -> Any:
    """Two episodes of an agent whose file was named relative to the folder that the agent is in."""
    here = Path(__file__).parent
    relative = Path(*[".."] * len(here.parts[1:])) / weights.relative_to("/")
    ran = rbench_command(*WEIGHED, "-o", f"weights={relative}", "--limit", "2")
    assert ran.code == 0, ran.err
    return ran


def test_a_relative_path_is_the_same_file_from_another_folder(
    run: Any, rbench_command: Callable[..., Any], weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Path(run.manifest["agent"]["options"]["given"]["weights"])
    assert given.is_absolute()
    assert given.resolve() == weights.resolve()
    monkeypatch.chdir(weights.parent.parent)
    assert rbench_command("resume", str(run.directory), "--limit", "3").code == 0
    assert [record.reason for record in run.episodes] == ["first"] * 3


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_run_does_not_go_on_with_other_weights_of_the_same_name(
    run: Any, rbench_command: Callable[..., Any], weights: Path, executor: str
) -> None:
    weights.write_bytes(b"second")
    resumed = rbench_command("resume", str(run.directory), "--limit", "3", "--executor", executor)
    assert resumed.code == 3
    assert "agent.manifest.weights.w.bin was a7937b64b8ca" in resumed.err
    assert len(run.episodes) == 2
    mixed = rbench_command("resume", str(run.directory), "--limit", "3", "--accept-changes", "--executor", executor)
    assert mixed.code == 0
    assert [record.reason for record in run.episodes] == ["first", "first", "second"]
    assert list(run.manifest["sessions"][-1]["accepted"]) == ["agent.manifest.weights.w.bin"]


def test_what_the_agent_calls_its_own_is_no_path(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(*WEIGHED, "-o", "weights=none", "--limit", "1")
    assert ran.manifest["agent"]["options"]["given"] == {"weights": "none"}
    assert ran.manifest["agent"]["manifest"]["weights"] == {}


@pytest.mark.parametrize("here", [{}, {"w.bin": "b"}, {"w.bin": "a", "more.bin": "c"}])
def test_a_worker_with_other_weights_does_not_work(here: Mapping[str, str]) -> None:
    job = Job(RunDescription("s", Part("a")), "", (), {}, weights={"w.bin": "a"})
    job.check_weights({"w.bin": "a"})
    with pytest.raises(StartError, match="not those that the run was planned with"):
        job.check_weights(here)


def test_weights_of_an_agent_inside_a_wrapper_count_too(rbench_command: Callable[..., Any], weights: Path) -> None:
    ran = rbench_command(*WEIGHED, "-o", f"weights={weights}", "--wrap", "agents_with_weights:Forgets", "--limit", "1")
    assert ran.code == 0, ran.err
    assert ran.manifest["agent"]["manifest"]["weights"] == {"w.bin": hashlib.sha256(b"first").hexdigest()}


@pytest.mark.parametrize("second", [b"first", b"second"])
def test_shards_are_merged_when_their_weights_are_the_same_wherever_these_lie(
    rbench_command: Callable[..., Any], tmp_path: Path, second: bytes
) -> None:
    for number, content in ((1, b"first"), (2, second)):
        file = tmp_path / f"machine-{number}" / "w.bin"
        file.parent.mkdir()
        file.write_bytes(content)
        shard = ("--shard", f"{number}/2", "--out", str(tmp_path / f"s{number}"))
        assert rbench_command(*WEIGHED, "-o", f"weights={file}", "--limit", "4", *shard).code == 0
    merged = rbench_command("merge", str(tmp_path / "s1"), str(tmp_path / "s2"), "-o", str(tmp_path / "all"))
    if second == b"first":
        assert merged.code == 0, merged.err
    else:
        assert merged.code == 2
        assert "agent.manifest.weights.w.bin is" in merged.err
        assert "options" not in merged.err
