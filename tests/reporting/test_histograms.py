"""Words that metrics count, and metrics that a report is asked for."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.reporting.histograms import histograms_of, scalars_of

MakeRun = Callable[..., Path]
FULL = ["success", "success", "success", "failure"] * 7
PLUGIN = """
from rbench.contributions import MetricContribution
from rbench.hookspecs import hookimpl
from rbench.interfaces.metric import Metric, MetricResult

class Words(Metric):
    def __init__(self, options):
        pass

    def compute(self, episodes, design, convention):
        n = sum(1 for _ in episodes)
        red = {"total": n, "counts": {"red": n, "<script>": 1}}
        histogram = {"figure": "fig5", "title": "colour words", "factor": "color", **red, "by": {"red": red}}
        return MetricResult(extra={"names": n, "rate": 0.25, "rate_interval": [0.1, 0.4], "histograms": [histogram]})

@hookimpl
def rbench_metrics():
    yield MetricContribution(name="words", summary="Counts words.", target="words_plugin:Words")
"""


@pytest.fixture
def words(fake_distribution: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(fake_distribution("words-plugin", PLUGIN)))
    yield
    sys.modules.pop("words_plugin", None)


def histogram(**changes: Any) -> dict[str, Any]:
    return {"figure": "fig5", "title": "words", "factor": "color", "total": 4, "counts": {"red": 3}, "by": {}} | changes


def test_a_metric_that_the_suite_does_not_name_can_be_asked_for(
    words: None, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(make_run(FULL))
    assert main(["report", run, "--format", "json"]) == 0
    assert "words" not in json.loads(capsys.readouterr().out)[0]["metrics"]
    assert main(["report", run, "--format", "json", "--metric", "words", "--metric", "bias"]) == 0
    metrics = json.loads(capsys.readouterr().out)[0]["metrics"]
    assert list(metrics) == ["bias", "words"]
    assert metrics["words"]["names"] == 28


def test_an_unknown_metric_is_refused_with_near_names(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(make_run(FULL)), "--metric", "bais"]) == 2
    assert "bias" in capsys.readouterr().err


def test_the_table_says_the_most_frequent_words(
    words: None, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(make_run(FULL)), "--metric", "words"]) == 0
    printed = capsys.readouterr().out
    assert "words: names 28, rate 0.25 [0.1, 0.4]" in printed
    assert "colour words (n = 28): red 100" in printed


def test_there_is_a_figure_of_the_words_and_one_by_what_was_true(
    words: None, make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    run = str(make_run(FULL))
    assert main(["report", run, "--metric", "words", "--format", "figures", "-o", str(tmp_path / "figures")]) == 0
    assert {"fig5.pdf", "fig5.svg", "fig5-by-color.pdf", "fig5-by-color.svg"} <= {
        path.name for path in (tmp_path / "figures").iterdir()
    }


def test_every_count_is_in_the_csv(words: None, make_run: MakeRun, tmp_path: Path) -> None:
    run = str(make_run(FULL))
    assert main(["report", run, "--metric", "words", "--format", "csv", "-o", str(tmp_path / "csv")]) == 0
    with (tmp_path / "csv" / "words.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["level"], row["word"], row["count"], row["total"]) for row in rows] == [
        ("", "red", "28", "28"),
        ("", "<script>", "1", "28"),
        ("red", "red", "28", "28"),
        ("red", "<script>", "1", "28"),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        7,
        {},
        histogram(counts=None),
        histogram(counts={"red": -1}),
        histogram(counts={"red": 0.5}),
        histogram(total=None),
        histogram(title=""),
        histogram(figure=3),
    ],
    ids=str,
)
def test_what_is_no_histogram_is_left_out(bad: Any) -> None:
    summary = {"metrics": {"words": {"histograms": [bad, histogram()]}, "other": {"histograms": bad}, "none": None}}
    assert [found.counts for found in histograms_of(summary)] == [{"red": 3}]


def test_a_level_that_cannot_be_read_costs_itself_only() -> None:
    own = {"total": 1, "counts": {"red": 1}}
    (found,) = histograms_of({"metrics": {"words": {"histograms": [histogram(by={"red": own, "blue": 3})]}}})
    assert found.by == {"red": (1, {"red": 1})}


def test_rare_words_are_counted_and_nothing_is_a_line_too() -> None:
    counts = {f"w{i}": 1 for i in range(12)}
    many, none = histograms_of(
        {"metrics": {"words": {"histograms": [histogram(counts=counts), histogram(total=0, counts={})]}}}
    )
    assert many.line().endswith(", and 4 more")
    assert none.line() == "words: none (n = 0)"


def test_what_is_undefined_is_said_to_be() -> None:
    assert scalars_of({"rate": None, "rate_interval": None, "n": 0, "ok": True}) == "rate N/A, n 0"
