"""Runs checks on the agents and wrappers of this folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.testing.checks import Result, run_check
from rbench.testing.kinds import checks_of, subject
from rbench.testing.subjects import Expectations

HERE = Path(__file__).resolve().parent


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Result]]:
    """Runs the checks of `KIND:NAME`, or those named, in the fake world; name -> result.

    What the agents write into the working and the temporary folder goes into the test's own.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(plugin: str, *only: str, without: tuple[str, ...] = (), **expected: Any) -> dict[str, Result]:
        kind, _, name = plugin.partition(":")
        expectations = Expectations(**{"world": "fake", **expected})
        tested = subject(kind, name, folder=HERE, expectations=expectations)
        chosen = [check for check in checks_of(kind) if (not only or check.name in only) and check.name not in without]
        assert len(chosen) >= len(only), only
        return {check.name: run_check(check, tested) for check in chosen}

    return run
