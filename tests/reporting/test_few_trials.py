"""Few trials: every rate is printed with n and an interval that has a width, and small differences are not called."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.design import Dimension
from rbench.plugins.catalog import Catalog
from rbench.reporting.comparison import compare_runs
from rbench.reporting.summary import summarise
from rbench.results.run_directory import open_run

MakeRun = Callable[..., Path]
S, F = "success", "failure"


def levels(count: int, repeats: int, contexts: tuple[str, ...] = ("position-p1",)) -> tuple[Dimension, ...]:
    return (Dimension("color", {"color": tuple("abcdefgh"[:count])}, contexts, repeats),)


def printed(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    assert main(["report", str(path)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("outcome", "rate"), [(F, "0.00"), (S, "100.00")])
def test_none_or_all_of_five_has_an_interval_of_some_width(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], outcome: str, rate: str
) -> None:
    text = printed(capsys, make_run([outcome] * 10, dimensions=levels(2, 5)))
    for low, high in re.findall(r"\[(\d+\.\d\d), (\d+\.\d\d)\]", text):
        assert float(high) - float(low) > 40
    assert re.search(rf"^color +{rate} +\[.*\] +\d+/10 ", text, re.M)
    assert "worst level" not in text  # none is worse than another


def test_levels_of_five_have_intervals_of_some_width(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, make_run([S] * 5 + [F] * 5, dimensions=levels(2, 5)))
    assert re.search(r"^color +b +0/5 \[0\.00, 5\d\.\d\d\] +a +5/5 \[4\d\.\d\d, 100\.00\]", text, re.M)


@pytest.mark.parametrize("successes", [6, 10])
def test_rates_of_24_have_wide_intervals(make_run: MakeRun, catalog: Catalog, successes: int) -> None:
    outcomes = [S] * successes + [F] * (24 - successes)
    row = summarise(open_run(make_run(outcomes, dimensions=levels(1, 24))), catalog)["dimensions"]["color"]
    low, high = row["success_rate_interval"]
    assert (row["successes"], row["episodes"]) == (successes, 24)
    assert low < successes / 24 < high
    assert high - low > 0.3


@pytest.mark.parametrize("swapped", [False, True])
def test_6_and_10_of_24_are_not_called_different(make_run: MakeRun, catalog: Catalog, swapped: bool) -> None:
    runs = [
        open_run(make_run([S] * k + [F] * (24 - k), f"run{k}", dimensions=levels(1, 24)))
        for k in ((10, 6) if swapped else (6, 10))
    ]
    found: dict[str, Any] = compare_runs(runs[0], runs[1], catalog, 0.05)
    assert found["dimensions"]["color"]["verdict"] == "cannot tell"
    assert found["overall"]["verdict"] == "cannot tell"


def test_levels_seen_once_are_marked(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, make_run([S, F, S, F], dimensions=levels(4, 1)))
    assert re.search(r"^color +\w +0/1 \[0\.00, \d+\.\d\d\], n = 1 +\w +1/1 \[\d+\.\d\d, 100\.00\], n = 1$", text, re.M)


def test_three_episodes_are_never_a_bias(make_run: MakeRun, catalog: Catalog) -> None:
    row = summarise(open_run(make_run([S, F, F], dimensions=levels(3, 1))), catalog)["dimensions"]["color"]
    assert row["verdict"] == "not resolved"
    assert row["cv"] > 100
