"""A disk that fills up during a run: nothing is lost, and the run goes on when there is room."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rbench

EPISODES = 60


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 192 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, timeout=20).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("cannot mount a file system here: not root, or in a container that forbids it")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=20)


def test_a_run_stops_on_a_full_disk_and_resumes(rbench_command: Callable[..., Any], small_disk: Path) -> None:
    run = small_disk / "run"
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_under_test:GivesUp", "--limit", str(EPISODES), "--out", str(run)
    )
    assert ran.code == 4, ran.err
    assert "free space" in ran.err
    assert str(run) in ran.err
    before = [record.episode for record in rbench.open_run(run).episodes()]
    assert 0 < len(before) < EPISODES
    assert rbench_command("report", str(run), "--format", "json").report()["counts"]["done"] == len(before)

    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True, timeout=20)
    resumed = rbench_command("resume", str(run), "--executor", "serial")
    assert resumed.code == 0, resumed.err
    after = [record.episode for record in rbench.open_run(run).episodes()]
    assert after[: len(before)] == before
    assert len(set(after)) == len(after) == EPISODES
    assert rbench_command("verify", str(run), "--episodes", "3").code == 0


def test_an_agent_that_fills_the_temporary_folder_costs_its_own_episode(
    start_rbench: Callable[..., Any],
    small_disk: Path,
    drawn: Callable[..., float],
    planned: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TMPDIR", str(small_disk))
    third = planned(3)[2]
    agent = ["--agent", "agents_that_misbehave:Misbehaves", "-o", "how=fill_temporary", "-o", f"at={drawn(third)!r}"]
    ran = start_rbench("run", "roboview-bias", *agent, "--limit", "8", "--workers", "2").ended()
    assert ran.code == 1, ran.err
    assert (small_disk / "filler").stat().st_size > 100_000
    outcomes = {e.episode: (e.outcome, e.error) for e in ran.episodes}
    assert "No space left on device" in outcomes.pop(third.id)[1]
    assert list(outcomes.values()) == [("failure", None)] * 7
