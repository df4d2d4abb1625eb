"""docs/write-a-factor.md and write-a-metric.md, done as they say: files written, commands run, in order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rbench.testing.kinds import checks_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
KINDS = ("factor", "metric")


def page(kind: str) -> str:
    return (DOCS / f"write-a-{kind}.md").read_text()


def blocks(kind: str) -> list[tuple[str, str]]:
    """Language and text of every fenced block, in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page(kind), re.DOTALL | re.MULTILINE)


def follow(kind: str, environment: Any, work: Path) -> None:
    """Write the files and run the commands of a page."""
    work.mkdir()
    for language, text in blocks(kind):
        if language in ("python", "toml"):
            name, _, body = text.removeprefix("# ").partition("\n")
            assert (work / name).is_file(), f"{name}: the template has no such file"
            (work / name).write_text(body)
        elif language == "sh":
            environment.succeed("sh", "-e", "-c", text, cwd=work)


@pytest.mark.parametrize("kind", KINDS)
def test_every_block_is_a_file_commands_or_output(kind: str) -> None:
    assert {language for language, _ in blocks(kind)} == {"sh", "python", "toml", ""}
    for language, text in blocks(kind):
        if language in ("python", "toml"):
            assert re.match(r"# [\w./-]+\.(py|toml)\n", text), text.splitlines()[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_check_a_page_names_exists(kind: str) -> None:
    names = {check.name for check in checks_of(kind)}
    table = page(kind).partition("| what goes wrong most | check |")[2]
    named = set(re.findall(r"`([a-z-]+)`", "\n".join(re.findall(r"^\|.*\|(.*)\|$", table, re.MULTILINE))))
    assert len(named) > 15
    assert named <= names


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_that_a_page_shows_has_the_words_of_its_check(kind: str) -> None:
    (shown,) = [text for language, text in blocks(kind) if not language]
    name, _, statement = shown.splitlines()[0].removeprefix("failed   ").partition(": ")
    assert statement == next(check.statement for check in checks_of(kind) if check.name == name)


@pytest.mark.gl
@pytest.mark.timeout(900)
def test_following_the_page_ends_in_a_studied_factor(environment: Any, tmp_path: Path) -> None:
    follow("factor", environment, work := tmp_path / "work")
    (report,) = json.loads(environment.succeed("rbench", "report", "cloth-run", "--format", "json", cwd=work))
    assert report["dimensions"]["tablecloth"]["episodes"] == 8
    assert (work / "navy.png").stat().st_size > 1000
    assert list((work / "dist").glob("rbench_factor_tablecloth-0.1.0-*.whl"))


@pytest.mark.gl
@pytest.mark.timeout(900)
def test_following_the_page_ends_in_a_reported_metric(environment: Any, tmp_path: Path) -> None:
    follow("metric", environment, work := tmp_path / "work")
    (report,) = json.loads((work / "grasp.json").read_text())
    row = report["dimensions"]["color"]
    assert (report["problems"], row["episodes"], row["grasp_rate"]) == ([], 8, 1.0)
    assert 0.5 < row["seconds_to_grasp"] < 10
    assert len(report["metrics"]["grasping"]["color"]) == 141
    assert list((work / "dist").glob("rbench_metric_grasping-0.1.0-*.whl"))
