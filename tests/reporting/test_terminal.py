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


def test_wide_terminals_have_a_row_a_dimension_for_success_and_one_for_bias(summary: Any) -> None:
    lines = rendered([summary(FULL)], 120).splitlines()
    success, bias, *_ = [line for line in lines if line.startswith("color ")]
    assert re.search(r"75\.00 +\[.*\] +6/8 +0\.875 +4", success)
    assert re.search(r"32\.89 +2/2 .* not resolved", bias)


def test_narrow_terminals_have_intervals_beneath_their_numbers(summary: Any) -> None:
    lines = rendered([summary(FULL)], 80).splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("color ") and "32.89" in line)
    assert "2/2" in lines[place + 1]
    assert lines[place + 1].startswith(" ")


def test_very_narrow_terminals_have_running_text(summary: Any) -> None:
    text = " ".join(rendered([summary(FULL)], 40).split())
    assert "CV 32.89, contexts 2/2, floor" in text
    assert "not resolved, p " in text


def test_bias_stands_out(summary: Any) -> None:
    found = summary(FULL)
    found["dimensions"]["color"]["verdict"] = "bias"
    console = Console(width=120, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(report_table([found]))
    assert isinstance(console.file, io.StringIO)
    assert "\x1b[1;31mbias" in console.file.getvalue()


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
    assert re.search(r"^average +75\.00$", text, re.M)
    assert re.search(r"^average +\d+\.\d\d +\d+\.\d$", text, re.M)
    assert "camera-distance+color: success 75.00 [" in text
    assert re.search(r"^camera-distance;color +\d+\.\d\d +0\.00 +N/A +N/A +no bias to change", text, re.M)


def test_undefined_coefficients_are_na_with_the_reason(summary: Any) -> None:
    text = report_text([summary(["failure"] * 28)])
    assert re.search(r"^color +0\.00 +\[0\.00, \d+\.\d\d\] +0/8 ", text, re.M)
    assert re.search(r"^color +N/A +0/2 +N/A .* not resolved", text, re.M)
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


def test_several_runs_stand_in_one_table_and_then_one_below_the_other(summary: Any) -> None:
    one, other = summary(FULL, name="a"), summary(HALF, name="b")
    one["dimensions"]["color"]["verdict"] = "bias"
    text = report_text([one, other])
    assert text.count("tiny-suite: expert") == 2
    head, first, second, *_ = text.splitlines()
    assert re.match(r"run +color +CV +camera-distance +CV +average +CV", head)
    assert re.match(r"expert, a +75\.00 +32\.89\* ", first)
    assert re.match(r"expert, b +75\.00 +32\.89 ", second)


def test_several_runs_show_dimensions_that_only_one_has(summary: Any, make_run: MakeRun) -> None:
    one, other = summary(FULL, name="a"), summary(FULL, name="b")
    del other["dimensions"]["camera-distance"]
    lines = report_text([one, other]).splitlines()
    assert len(lines[1].split()) == len(lines[2].split()) + 2


def test_levels_seen_once_are_marked(summary: Any) -> None:
    found = summary(FULL)
    assert ", n = 1" not in report_text([found])
    found["dimensions"]["color"]["worst_levels"][0]["episodes"] = 1
    assert ", n = 1" in report_text([found])


def test_worst_and_best_levels(summary: Any) -> None:
    text = report_text([summary((["success"] * 2 + ["failure"] * 2) * 7)])
    assert re.search(r"^color +blue +0/4 \[0\.00, \d+\.\d\d\] +red +4/4 \[\d+\.\d\d, 100\.00\]", text, re.M)


def test_interaction_has_its_floor_and_says_when_factors_interact(summary: Any) -> None:
    found = summary(FULL)
    (grid,) = found["interactions"]
    grid |= {"additivity_p": 0.2, "logit_sd": {"camera-distance": 1.25, "color": None}}
    text = report_text([found])
    assert "additivity on the logit scale: p 0.200, no interaction found" in text
    assert "standard deviations in logits: camera-distance 1.250\n" in text
    grid["additivity_p"] = 0.01
    assert "p 0.010, A and B interact" in report_text([found])


def test_few_contexts_behind_a_cv_are_said(summary: Any) -> None:
    found = summary(FULL)
    found["dimensions"]["color"] |= {"contexts_used": 1, "contexts_total": 3}
    assert "fewer than half of the contexts" in " ".join(report_text([found]).split())


def test_differences_that_can_only_be_noise_are_said(summary: Any) -> None:
    found = summary(FULL)
    found["dimensions"]["color"] |= {
        "equal_contexts": [{"contexts": ["a", "b"], "success_rates": [0.5, 0.25], "p_value": 0.04}],
        "equal_levels": [{"levels": ["aqua", "cyan"], "differ": 2, "pairs": 9, "p_value": None}],
    }
    text = " ".join(report_text([found]).split())
    assert "contexts of equal setting (a, b): color 50.00, 25.00 (p 0.040)." in text
    assert "levels of equal value differ: color aqua and cyan in 2 of 9 (p N/A)." in text


def test_copies_are_said(summary: Any) -> None:
    found = summary(FULL)
    found["dimensions"]["color"] |= {"repeats_are_copies": True, "dispersion": 0}
    text = " ".join(report_text([found]).split())
    assert "Repeats are copies" in text
    assert "Repeats never differ" not in text


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
