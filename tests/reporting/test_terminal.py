"""The terminal table: complete at any width, plain where there is no terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rbench.plugins.catalog import Catalog
from rbench.reporting.summary import summarise
from rbench.reporting.terminal import report_table, report_text
from rbench.results.run_directory import open_run

MakeRun = Callable[..., Path]
HALF = ["success", "success", "success", "failure"] * 4 + ["agent_error", "infrastructure_error"]
FULL = ["success", "success", "success", "failure"] * 7


@pytest.fixture
def summary(make_run: MakeRun, catalog: Catalog) -> Callable[..., dict[str, Any]]:
    def make(outcomes: list[str], **changes: Any) -> dict[str, Any]:
        return summarise(open_run(make_run(outcomes, **changes)), catalog)

    return make


def rendered(summaries: list[dict[str, Any]], width: int) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(report_table(summaries))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+\.\d+|\d+/\d+", text))


@pytest.mark.parametrize("width", [120, 80, 60, 40, 24])
@pytest.mark.parametrize("outcomes", [FULL, HALF], ids=["complete", "half"])
def test_no_number_is_lost_at_any_width(summary: Any, outcomes: list[str], width: int) -> None:
    found = summary(outcomes)
    full, narrow = report_text([found]), rendered([found], width)
    assert numbers(narrow) == numbers(full)
    assert "…" not in narrow
    path = f"run {found['run']}"
    assert all(len(line) <= width for line in narrow.splitlines() if line != path)


@pytest.mark.parametrize("width", [120, 80, 60])
def test_a_row_a_dimension(summary: Any, width: int) -> None:
    lines = rendered([summary(FULL)], width).splitlines()
    (row,) = [line for line in lines if line.startswith("color ")]
    assert "75.00" in row
    assert "6/8" in row
    assert "32.89" in row
    assert "2/2" in row


def test_title_says_what_was_run(summary: Any) -> None:
    text = report_text([summary(FULL)])
    assert "tiny-suite: expert (privileged: reads ground truth)" in text
    assert "render profile standard, seed 7 (shared seeds), convention default" in text
    assert (
        "n = 28 of 28 planned: success 21, failure 7, agent_error 0, unstable 0; not counted: infrastructure_error 0"
        in text
    )


def test_half_finished_says_so_at_the_top(summary: Any) -> None:
    assert report_text([summary(HALF)]).startswith("INCOMPLETE, FINISHED: 11 of 28 episodes are missing\n")
    assert "INCOMPLETE" not in report_text([summary(FULL, name="full")])


def test_average_and_interactions(summary: Any) -> None:
    text = report_text([summary(FULL)])
    assert re.search(r"^average +75\.00 +\d+\.\d\d$", text, re.M)
    assert "camera-distance+color: success 75.00 [" in text
    assert re.search(r"^camera-distance;color +\d+\.\d\d +0\.00 +no bias to change", text, re.M)


def test_undefined_coefficients_are_na_with_the_reason(summary: Any) -> None:
    text = report_text([summary(["failure"] * 28)])
    assert re.search(r"^color +0\.00 .* N/A +0/2 ", text, re.M)
    assert "N/A: not defined" in text


def test_rows_left_out_and_deterministic_repeats_are_said(summary: Any) -> None:
    grid = ["success"] * 2 + ["failure"] * 6
    text = report_text([summary((["success"] * 2 + ["failure"] * 2) * 5 + grid)])
    words = " ".join(text.split())
    assert "undefined rows left out: 1" in words
    assert (
        "Repeats never differ within a cell (deterministic, or every cell all or none): color, camera-distance."
        in words
    )


def test_problems_are_in_the_table(make_run: MakeRun, catalog: Catalog) -> None:
    found = summarise(open_run(make_run(FULL, metrics=("missing-one",))), catalog)
    assert "metric 'missing-one'" in report_text([found])
    assert "6/8" in report_text([found])


def test_nothing_yet_has_no_table(summary: Any) -> None:
    text = report_text([summary([])])
    assert "28 of 28 episodes are missing" in text
    assert "0/0" in text


def test_several_runs_stand_one_below_the_other(summary: Any) -> None:
    text = report_text([summary(FULL, name="a"), summary(HALF, name="b")])
    assert text.count("tiny-suite: expert") == 2


def test_no_colour_without_a_terminal_and_red_errors_on_one(summary: Any) -> None:
    found = summary(HALF)
    assert "\x1b" not in report_text([found])
    console = Console(width=100, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(report_table([found]))
    file = console.file
    assert isinstance(file, io.StringIO)
    assert "\x1b[1;31magent_error 1\x1b[0m" in file.getvalue()


def test_names_with_brackets_are_printed_as_they_are(summary: Any) -> None:
    found = summary(FULL)
    found["agent"] = "my[bold]agent"
    found["problems"] = ["metric 'x' [red]failed"]
    text = report_text([found])
    assert "my[bold]agent" in text
    assert "[red]failed" in text
