"""What the page shows of stages and of metrics besides rows of dimensions, whoever's metrics they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.suites.accepted import validation_line

Build = Callable[..., Any]


def stage(name: str, lost: int = 0, **changes: Any) -> dict[str, Any]:
    row = {"stage": name, "episodes": 9, "right": 9 - lost, "wrong": lost, "unknown": 0, "error_mm": None}
    return row | {"error_mm_95": None, "lost": lost, "why": None} | changes


STAGES = {
    "episodes": 9,
    "successes": 6,
    "perception": ["detector opencv"],
    "stages": [stage("detect object", 3, error_mm=17.81, error_mm_95=20.84, why="no_detection:<cube>"), stage("hold")],
}
HISTOGRAM = {
    "figure": "fig5",
    "title": "words of a kind",
    "factor": "color",
    "total": 8,
    "counts": {"red": 5, "<b>": 3},
    "by": {"blue": {"total": 8, "counts": {"red": 5, "<b>": 3}}},
}


def section(page: Any, id: str) -> str:
    found = re.search(rf'<section id="{id}".*?</section>', page.html, re.DOTALL)
    return found[0] if found else ""


def numbers_below(page: Any, path: str) -> set[float]:
    marked = [a for a, _ in page.all("data") if str(a["data-path"]).startswith(path)]
    assert all(float(str(a["value"])) == page.at(str(a["data-path"])) for a in marked)
    return {float(str(a["value"])) for a in marked}


def test_the_page_has_the_table_of_stages(page_of_metrics: Build) -> None:
    page = page_of_metrics(stages=STAGES)
    shown = section(page, "stages")
    assert "Where episodes are lost" in shown
    assert "detector opencv" in shown
    assert 'href="#stages"' in page.html
    assert {17.81, 20.84, 3, 6, 9} <= numbers_below(page, "/runs/0/metrics/stages/")
    assert "no_detection:&lt;cube&gt;" in shown
    assert not section(page, "metrics")


def test_stages_have_the_column_of_reasons_and_of_unknowns_only_where_there_are_some(page_of_metrics: Build) -> None:
    plain = section(page_of_metrics(stages={**STAGES, "stages": [stage("hold")]}), "stages")
    assert "most often" not in plain
    assert "unknown" not in plain


def test_a_page_of_agents_without_stages_has_no_such_section(page_of_metrics: Build) -> None:
    page = page_of_metrics()
    assert not section(page, "stages")
    assert 'href="#stages"' not in page.html


def test_every_run_has_its_table_of_stages(page_of_metrics: Build) -> None:
    page = page_of_metrics(2, stages=STAGES)
    assert numbers_below(page, "/runs/1/metrics/stages/") == numbers_below(page, "/runs/0/metrics/stages/") != set()


def test_histograms_of_any_metric_are_drawn_and_stand_in_a_table(page_of_metrics: Build) -> None:
    page = page_of_metrics(somebodys={"histograms": ["no histogram", HISTOGRAM]})
    shown = section(page, "metrics")
    assert shown.count("<svg") == 2
    assert "<b>: 37.50 % (3/8)" in page.text
    assert numbers_below(page, "/runs/0/metrics/somebodys/histograms/1/counts/") == {5, 3}
    assert numbers_below(page, "/runs/0/metrics/somebodys/histograms/1/by/blue/") == {5, 3, 8}


def test_a_histogram_without_a_word_is_a_line(page_of_metrics: Build) -> None:
    empty = {**HISTOGRAM, "counts": {}, "by": {}}
    page = page_of_metrics(somebodys={"histograms": [empty]})
    assert "words of a kind: none (n = 8)" in page.text
    assert "<svg" not in section(page, "metrics")


def test_more_words_than_a_panel_can_hold_are_in_the_table(page_of_metrics: Build) -> None:
    counts = {f"word{n}": 30 - n for n in range(25)}
    many = {**HISTOGRAM, "total": 30, "counts": counts, "by": {"blue": {"total": 30, "counts": counts}}}
    page = page_of_metrics(somebodys={"histograms": [many]})
    assert re.sub(r"\s+", " ", page.text).count("first 10 of 25 words") == 1
    assert len(numbers_below(page, "/runs/0/metrics/somebodys/histograms/0/counts/")) == 25


def test_single_values_are_shown_with_their_intervals(page_of_metrics: Build) -> None:
    page = page_of_metrics(
        grasping={"grasp_rate": 0.25, "grasp_rate_interval": [0.1, 0.4], "kind": "<i>", "sure": None}
    )
    assert {0.25, 0.1, 0.4} <= numbers_below(page, "/runs/0/metrics/grasping/")
    assert "grasp rate 0.25 [0.1, 0.4]" in re.sub(r"\s+", " ", page.text)
    assert "<i>" in page.text


@pytest.mark.parametrize(
    "table",
    [[{"word": "red", "n": 3}, {"word": "<i>", "n": 4, "more": 5}], {"red": {"n": 3}, "<i>": {"n": 4, "more": 5}}],
    ids=["list", "by name"],
)
def test_tables_of_any_metric_are_tables(page_of_metrics: Build, table: Any) -> None:
    page = page_of_metrics(somebodys={"some_rows": table})
    assert numbers_below(page, "/runs/0/metrics/somebodys/some_rows/") == {3, 4, 5}
    assert {"some rows", "n", "more", "red", "<i>"} <= {piece.strip() for piece, _ in page.pieces}


def test_a_table_much_wider_than_high_is_turned(page_of_metrics: Build) -> None:
    page = page_of_metrics(somebodys={"cv": {"color": {f"context{n}": float(n) for n in range(12)}}})
    assert len(numbers_below(page, "/runs/0/metrics/somebodys/cv/")) == 12
    assert section(page, "metrics").count("<tr>") == 13


def test_a_table_longer_than_a_page_says_how_much_it_leaves_out(page_of_metrics: Build) -> None:
    page = page_of_metrics(somebodys={"rows": [{"n": n} for n in range(1000)]})
    assert "700 more rows" in page.text


@pytest.mark.parametrize(
    "extra",
    [
        None,
        7,
        "text",
        [],
        {},
        {"deep": {"a": {"b": {"c": 1}}}},
        {"mixed": [1, {"a": 2}]},
        {"empty": [{}]},
        {"none": []},
    ],
    ids=str,
)
def test_what_is_neither_value_nor_table_stays_in_the_json(page_of_metrics: Build, extra: Any) -> None:
    page = page_of_metrics(somebodys=extra)
    assert not section(page, "metrics")
    assert page.at("/runs/0/metrics/somebodys") == extra


def test_a_metric_called_stages_is_no_table_of_stages(page_of_metrics: Build) -> None:
    page = page_of_metrics(stages={"episodes": 4})
    assert not section(page, "stages")
    assert numbers_below(page, "/runs/0/metrics/stages/") == {4}


def test_the_header_says_of_the_validation_what_the_tables_say(write_run: Callable[..., Path], page: Build) -> None:
    accepted = {"suite": "some-suite", "stages": {"measured": {"pass_rate": 0.988, "instances": 2127}}}
    for number, validated in enumerate((accepted, None)):
        found = page(write_run(f"run-{number}", limit=2, validated=validated))
        header = re.search(r"<header.*?</header>", found.html, re.DOTALL)
        assert header is not None
        assert validation_line(validated) in header[0]


def test_no_width_breaks_stages_and_metrics(page_of_metrics: Build, browser: Any, tmp_path: Path) -> None:
    counts = {f"a word of some length, number {n}": n for n in range(30)}
    long = {
        **HISTOGRAM,
        "title": "what somebody has counted in many words of every kind " * 9,
        "counts": counts,
        "by": {"a level of some length, truly very long": {"total": 30, "counts": counts}},
    }
    rows = [{f"column{n}": "some words" for n in range(12)}]
    page = page_of_metrics(stages=STAGES, somebodys={"histograms": [HISTOGRAM, long], "rows": rows, "n": 3})
    path = tmp_path / "index.html"
    path.write_text(page.html, encoding="utf-8")
    for width in (360, 800, 1600):
        browser.open(path, width=width)
        assert browser.evaluate("document.documentElement.scrollWidth") == width
        assert browser.messages == []
