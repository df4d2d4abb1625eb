"""Runs the real command line in this process, from the folder that holds the spoiled agents."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rbench
from rbench.cli import main

HERE = Path(__file__).resolve().parent


@dataclass
class Ran:
    """What a command printed and returned."""

    code: int
    out: str
    err: str
    directory: Path | None

    @property
    def episodes(self) -> list[Any]:
        assert self.directory is not None, self.err
        return list(rbench.open_run(self.directory).episodes())

    def report(self) -> dict[str, Any]:
        return json.loads(self.out)[0]


@pytest.fixture
def rbench_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Ran]:
    """Calls `rbench ARGUMENTS`; a `run` without --out gets one below tmp_path, and is serial unless told otherwise."""
    monkeypatch.chdir(HERE)
    number = 0

    def call(*arguments: str) -> Ran:
        nonlocal number
        directory = None
        words = list(arguments)
        if words[0] == "run" and "--out" not in words:
            number += 1
            directory = tmp_path / f"run-{number}"
            words += ["--out", str(directory)]
        if words[0] == "run" and "--executor" not in words:
            # In this process: no start-up a run, and wrong use is met before any worker starts anyway.
            words += ["--executor", "serial"]
        code = main(words)
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err, directory)

    return call
