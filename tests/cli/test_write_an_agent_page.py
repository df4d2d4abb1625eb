"""docs/write-an-agent.md, done as it says: its files written, its commands run, in order, in a fresh environment."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "write-an-agent.md"


def blocks() -> list[tuple[str, str]]:
    """Language and text of every fenced block, in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_every_python_block_is_a_file_and_every_other_one_commands_or_output() -> None:
    assert {language for language, _ in blocks()} == {"sh", "python", ""}
    for language, text in blocks():
        if language == "python":
            assert re.match(r"# [\w./-]+\.py\n", text), text.splitlines()[0]


def test_every_check_it_names_exists() -> None:
    from rbench.testing.kinds import checks_of

    names = {check.name for check in checks_of("agent")}
    cells = re.findall(r"^\|.*\|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)}
    assert len(named) > 15
    assert named <= names


@pytest.mark.gl
@pytest.mark.timeout(900)
def test_following_the_page_ends_in_a_compared_agent(environment: Any, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for language, text in blocks():
        if language == "python":
            name, _, body = text.removeprefix("# ").partition("\n")
            assert (work / name).parent.is_dir(), f"{name}: the template has no such folder"
            (work / name).write_text(body)
        elif language == "sh":
            environment.succeed("sh", "-e", "-c", text, cwd=work)
    rows = json.loads(environment.succeed("rbench", "report", "redeye-run", "simple-run", "--format", "json", cwd=work))
    assert [row["agent"] for row in rows] == ["redeye", "simple"]
    assert [row["counts"]["done"] for row in rows] == [12, 12]
    # It picks up what is red: some of twelve colours, not all of them.
    assert 0 < rows[0]["dimensions"]["color"]["successes"] < 12
    assert list((work / "dist").glob("rbench_agent_redeye-0.1.0-*.whl"))
