"""What only a late part of a run would ask for by its name is looked up before the run directory exists."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

METRICS, RENDER = 'metrics = ["bias"]', 'render = "standard"'


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (METRICS, 'metrics = ["biass"]', "metric 'biass' is not known. Did you mean 'bias'?"),
        (METRICS, 'metrics = ["bias", "rbench-metric-bias/bias"]', "'rbench-metric-bias/bias' is there twice"),
        (RENDER, 'render = "nope"', "render profile 'nope' is unknown. Known: fast, standard."),
    ],
)
def test_a_name_that_nothing_has_is_refused_at_once(
    rbench_command: Callable[..., Any], tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    text = files("rbench.suites").joinpath("roboview-bias.toml").read_text()
    assert right in text
    suite = tmp_path / "mine.toml"
    suite.write_text(text.replace(right, wrong))
    ran = rbench_command("run", str(suite), "--agent", "idle", "--limit", "1")
    assert ran.code == 2
    assert str(suite) in ran.err
    assert said in ran.err
    assert not ran.directory.exists()
