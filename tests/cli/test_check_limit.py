"""`rbench check-plugin --check-limit`: a plugin that never comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

WAITS = """
import time
from rbench import Agent, AgentManifest

class Waits(Agent):
    manifest = AgentManifest(actions=("waypoints",))

    def __init__(self, options, context):
        pass

    def reset(self, start):
        pass

    def act(self, observation):
        print("waiting")
        time.sleep(600)
"""


@pytest.fixture
def waits(tmp_path: Path) -> Path:
    """A folder with an agent whose `act` never comes back."""
    (tmp_path / "waits.py").write_text(WAITS)
    return tmp_path


def check(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and stdout of a check, in a process that can be ended."""
    command = [sys.executable, "-m", "rbench", "check-plugin", "agent:waits:Waits", "--world", "fake", *arguments]
    ended = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, timeout=120, text=True, check=False)
    return ended.returncode, ended.stdout


def test_a_check_that_never_ends_has_failed_and_is_the_last_one(waits: Path) -> None:
    code, out = check(waits, "--check-limit", "2")
    assert code == 1
    lines = out.splitlines()
    assert [line.split(":")[0].split()[:2] for line in lines if not line.startswith(" ")] == [
        ["ok", "options"],
        ["ok", "construct"],
        ["failed", "manifest"],
        ["agent", "'waits"],
    ]
    said = " ".join(out.split())
    assert "had not come back after 2 s, waiting at" in said
    assert "waits.py:16 (act)" in said
    assert "--check-limit waits longer" in said
    assert "waiting\n" not in out


def test_it_is_one_object_of_json_all_the_same(waits: Path) -> None:
    code, out = check(waits, "--check-limit", "2", "--only", "construct", "--only", "manifest", "--json")
    found = json.loads(out)
    assert (code, found["passed"]) == (1, False)
    assert [(one["name"], one["status"]) for one in found["checks"]] == [("construct", "ok"), ("manifest", "failed")]


def test_the_limit_is_of_each_check_by_itself(waits: Path) -> None:
    code, out = check(waits, "--check-limit", "60", "--only", "options", "--only", "construct")
    assert code == 0
    assert out.splitlines()[-1].endswith("2 ok")
