"""docs/remote-agents.md: its agent is served as it stands, by the file as it is written, and plays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rbench.cli import main
from rbench.plugins.catalog import Catalog
from rbench.running.agents import build_agent, resolve_agent
from rbench.running.description import Part, RunDescription
from rbench.testing import FakeWorld, baselines, play

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "remote-agents.md").read_text()


def test_the_agent_of_the_page_is_served_and_plays(
    tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve-agent", "--write", str(tmp_path / "rbench_agent_server.py")]) == 0
    program = re.search(r"```python\n# (serve_my_agent\.py)\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    (tmp_path / program[1]).write_text(program[2])
    process = subprocess.Popen(
        [sys.executable, program[1]],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "RBENCH_AGENT_PORT": "0"},
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        parts = resolve_agent(catalog, RunDescription("", Part("remote", {"port": port})))
        agent = build_agent(parts)
        played = [play(agent, FakeWorld(), baselines()[0]) for _ in range(2)]
        agent.close()
        assert [(p.outcome, p.reason, p.report) for p in played] == [("failure", "done", {"left": -1})] * 2
        assert played[0].signature == played[1].signature
    finally:
        process.kill()
        process.communicate()


def test_every_option_of_serving_is_on_the_page() -> None:
    from rbench.cli.serve_agent import command

    long = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    run_too = {"--option", "--wrap", "--wrapper-option", "--vision", "--vision-option"}
    assert {option for option in long - run_too if f"`{option}" not in PAGE and f" {option}" not in PAGE} == set()
