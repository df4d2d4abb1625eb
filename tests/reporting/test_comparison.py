"""`rbench compare`: what is paired, what is refused, and what is said."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rbench.cli import main
from rbench.design import Design, Dimension
from rbench.errors import StartError, UsageError
from rbench.interfaces.metric import ComparisonResult, Convention, Metric, MetricResult
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord
from rbench.reporting.comparison import compare_runs
from rbench.reporting.comparison_table import comparison_table
from rbench.reporting.terminal import as_text
from rbench.results.manifest import SuiteUsed
from rbench.results.run_directory import open_run

MakeRun = Callable[..., Path]
S, F = "success", "failure"
#: One dimension of 12 levels in 2 contexts, once each: 24 episodes in 2 blocks; or of 2 levels 6 times: 12 blocks.
WIDE = (Dimension("color", {"color": tuple(f"c{i:02d}" for i in range(12))}, ("position-p1", "position-p2"), 1),)
LONG = (Dimension("color", {"color": ("red", "blue")}, ("position-p1", "position-p2"), 6),)


@pytest.fixture
def compare(make_run: MakeRun, catalog: Catalog) -> Callable[..., dict[str, Any]]:
    number = count()

    def of(first: Sequence[str], second: Sequence[str], margin: float = 0.05, **changes: Any) -> dict[str, Any]:
        runs = [open_run(make_run(outcomes, f"run{next(number)}", **changes)) for outcomes in (first, second)]
        comparison = compare_runs(runs[0], runs[1], catalog, margin)
        json.dumps(comparison, allow_nan=False)
        return comparison

    return of


def successes(number: int, of: int) -> list[str]:
    return [S] * number + [F] * (of - number)


def test_six_and_ten_of_24_cannot_be_told_apart(compare: Any) -> None:
    for dimensions in (WIDE, LONG):
        found = compare(successes(6, 24), successes(10, 24), dimensions=dimensions)
        row = found["dimensions"]["color"]
        assert row["success_rates"] == [0.25, 10 / 24]
        assert row["verdict"] == "cannot tell"
        assert row["difference_interval"][0] < 0 < row["difference_interval"][1]
        assert found["overall"]["verdict"] == "cannot tell"


def test_a_clear_difference_is_called(compare: Any) -> None:
    found = compare([S, F, F] * 8, [S] * 24, dimensions=LONG)
    row = found["dimensions"]["color"]
    assert row["difference"] == pytest.approx(2 / 3)
    assert (row["verdict"], found["overall"]["verdict"]) == ("second is better", "second is better")
    assert row["p_value"] < 0.01
    assert row["discordant"] == [0, 16]


def test_equal_runs_are_equivalent_only_when_enough_was_seen(compare: Any) -> None:
    found = compare([S, F] * 12, [S, F] * 12, dimensions=LONG)
    row = found["dimensions"]["color"]
    assert (row["difference"], row["p_value"], row["mcnemar_p"]) == (0.0, 1.0, None)
    assert (row["verdict"], row["equivalent"]) == ("cannot tell", False)
    low, high = row["difference_interval"]
    assert low < -0.1
    assert high > 0.1


def test_a_wide_margin_makes_them_equivalent(compare: Any) -> None:
    row = compare([S, F] * 12, [S, F] * 12, margin=0.3, dimensions=LONG)["dimensions"]["color"]
    assert (row["verdict"], row["equivalent"]) == ("equivalent", True)


def test_only_common_episodes_are_compared(compare: Any) -> None:
    found = compare([S] * 28, [F] * 9 + ["infrastructure_error"] + [S] * 2)
    assert found["episodes"] == {"first": 28, "second": 11, "common": 11}
    assert list(found["dimensions"]) == ["color", "camera-distance"]
    assert found["dimensions"]["color"]["episodes"] == 8
    assert found["dimensions"]["camera-distance"]["episodes"] == 3
    assert found["dimensions"]["camera-distance"]["success_rates"] == [1.0, 2 / 3]


def test_designs_may_differ_in_what_they_select(make_run: MakeRun, catalog: Catalog) -> None:
    other = (replace(LONG[0], levels={"color": ("blue", "green")}, repeats=3),)
    first = open_run(make_run([S] * 24, "a", dimensions=LONG))
    second = open_run(make_run([F] * 12, "b", dimensions=other))
    row = compare_runs(first, second, catalog, 0.05)["dimensions"]["color"]
    assert (row["episodes"], row["blocks"], row["success_rates"]) == (6, 6, [1.0, 0.0])


def test_grids_are_compared_but_are_no_part_of_the_mean(compare: Any) -> None:
    found = compare([F] * 28, [F] * 20 + [S] * 8)
    assert found["dimensions"]["camera-distance+color"]["difference"] == 1.0
    assert "cv_debiased" not in found["dimensions"]["camera-distance+color"]
    assert found["overall"]["difference"] == 0.0


def test_the_mean_gives_every_dimension_the_same_weight(compare: Any) -> None:
    found = compare([F] * 28, [S] * 8 + [F] * 20)
    assert found["overall"]["difference"] == 0.5


def test_bias_is_compared_by_its_debiased_cv(compare: Any) -> None:
    # Six levels: all alike; or three that nearly always succeed and three that nearly always fail.
    levels = (replace(LONG[0], levels={"color": tuple("abcdef")}),)
    even = [S, S, F, S, F, S, S, F, S, S, S, F, F, S, S] * 4 + [S, F, S] * 4
    biased = ([S] * 17 + [F] + [F] * 9 + [S] + [F] * 8) * 2
    found = compare(even, biased, dimensions=levels)
    row = found["dimensions"]["color"]
    assert row["cv_difference"] == pytest.approx(row["cv_debiased"][1] - row["cv_debiased"][0])
    low, high = row["cv_difference_interval"]
    assert low < row["cv_difference"] < high
    assert row["cv_verdict"] == "second has more bias"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"render": "fast"}, r"render profile \(standard and fast\)"),
        ({"seed": 8}, r"seed \(7 and 8\)"),
        ({"suite": SuiteUsed("tiny-suite", "b" * 64, "rbench")}, r"suite hash \(aaaaaaaaaaaa and bbbbbbbbbbbb\)"),
        ({"suite": SuiteUsed("other", "b" * 64, "rbench")}, r"suite \(tiny-suite and other\), suite hash"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_unlike_runs_are_refused_by_name(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], change: dict[str, Any], words: str
) -> None:
    first, second = make_run([S] * 8, "a"), make_run([S] * 8, "b", **change)
    assert main(["compare", str(first), str(second)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.search(words, printed.err)
    assert "compare runs of the same suite" in printed.err


def test_another_seed_protocol_is_refused(make_run: MakeRun, catalog: Catalog) -> None:
    first = open_run(make_run([S] * 8, "a"))
    design = replace(first.manifest.design, seeds="independent")
    second = open_run(make_run([S] * 8, "b", design=design))
    with pytest.raises(UsageError, match=r"seed protocol \(shared and independent\)"):
        compare_runs(first, second, catalog, 0.05)


def test_runs_without_a_common_episode_are_refused(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = make_run([S] * 8, "a"), make_run(["infrastructure_error"] * 8, "b")
    assert main(["compare", str(first), str(second)]) == 2
    assert "no episode in common (8 and 0 finished)" in capsys.readouterr().err


def test_a_run_against_itself_gets_a_warning(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run([S, F] * 14)
    link = tmp_path / "link"
    link.symlink_to(run)
    monkeypatch.chdir(tmp_path)
    for other, said in ((run, "is compared with itself"), (link, "are one directory"), (Path(run.name), "are one")):
        assert main(["compare", str(run), str(other)]) == 0
        assert said in " ".join(capsys.readouterr().out.split())
    assert main(["compare", str(run), str(link), "--json"]) == 0
    printed = capsys.readouterr()
    assert "warning: " in printed.err
    assert len(json.loads(printed.out)["warnings"]) == 1


def test_two_runs_get_no_warning(compare: Any) -> None:
    assert compare([S] * 28, [S] * 28)["warnings"] == []


def test_a_folder_without_a_run_is_wrong_use(make_run: MakeRun, tmp_path: Path) -> None:
    assert main(["compare", str(make_run([S])), str(tmp_path)]) == 2


@pytest.mark.parametrize("margin", ["0", "1.5", "five"])
def test_a_margin_is_a_rate(make_run: MakeRun, margin: str) -> None:
    run = str(make_run([S]))
    assert main(["compare", run, run, "--margin", margin]) == 2


def test_json(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = make_run([S, F] * 14, "a"), make_run([F, S] * 14, "b")
    assert main(["compare", str(first), str(second), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["run"] for run in found["runs"]] == [str(first), str(second)]
    assert found.keys() >= {"suite", "suite_hash", "render", "seed", "seeds", "margin", "episodes", "overall"}
    keys = {"success_rates", "difference", "difference_interval", "p_value", "p_adjusted", "equivalent", "verdict"}
    assert found["dimensions"]["color"].keys() >= keys | {"discordant", "mcnemar_p", "episodes", "blocks"}


def test_the_order_of_runs_changes_the_sign_only(compare: Any) -> None:
    one, other = [S, F, F, S, S, F] * 4, [S, S, F, S, F, F] * 3 + [S] * 6
    there, back = (compare(*pair, dimensions=LONG)["dimensions"]["color"] for pair in ((one, other), (other, one)))
    assert there["difference"] == pytest.approx(-back["difference"])
    assert there["p_value"] == back["p_value"]
    assert there["difference_interval"][0] == pytest.approx(-back["difference_interval"][1])


def test_independent_seeds_take_episodes_as_the_units(make_run: MakeRun, catalog: Catalog) -> None:
    def p(seeds: Any) -> float:
        paths = [
            make_run([S] * 20 + [F] * 4, f"{seeds}-a", dimensions=WIDE),
            make_run([F] * 4 + [S] * 20, f"{seeds}-b", dimensions=WIDE),
        ]
        runs = [open_run(path) for path in paths]
        for run in runs:
            run.update(design=replace(run.manifest.design, seeds=seeds))
        result: float = compare_runs(runs[0], runs[1], catalog, 0.05)["dimensions"]["color"]["p_value"]
        return result

    # Two blocks of opposite difference; or four episodes for one run and four for the other.
    assert p("shared") == 1.0
    assert p("independent") == 1.0


class Metrics:
    """Stands in for a catalog that has these metrics."""

    def __init__(self, **metrics: Metric) -> None:
        self.metrics = metrics

    def make(self, kind: str, name: str) -> Metric:
        return self.metrics[name]


class Silent(Metric):
    """A metric that does not compare."""

    def compute(self, episodes: Iterable[EpisodeRecord], design: Design, convention: Convention) -> MetricResult:
        return MetricResult()


class Counting(Silent):
    def compare(
        self, first: Iterable[EpisodeRecord], second: Iterable[EpisodeRecord], design: Design, margin: float
    ) -> ComparisonResult:
        numbers = len(list(first)), len(list(second))
        return ComparisonResult({"color": {"episodes": numbers[0], "records": numbers}}, {"margin_seen": margin})


class Failing(Silent):
    def compare(
        self, first: Iterable[EpisodeRecord], second: Iterable[EpisodeRecord], design: Design, margin: float
    ) -> ComparisonResult:
        raise ZeroDivisionError("by nothing")


def runs_of(make_run: MakeRun, *metrics: str) -> Any:
    return [open_run(make_run([S, F] * 4, name, metrics=metrics)) for name in ("a", "b")]


def test_metrics_get_the_same_episodes_of_both_runs(make_run: MakeRun) -> None:
    catalog: Any = Metrics(one=Counting(), silent=Silent())
    found = compare_runs(*runs_of(make_run, "one", "silent"), catalog, 0.1)
    assert found["dimensions"]["color"]["records"] == [8, 8]
    assert found["overall"] == {"margin_seen": 0.1}
    assert found["problems"] == []


def test_a_failing_metric_is_named_and_costs_its_numbers_only(make_run: MakeRun) -> None:
    catalog: Any = Metrics(one=Counting(), bad=Failing())
    found = compare_runs(*runs_of(make_run, "bad", "one"), catalog, 0.1)
    assert found["problems"] == ["metric 'bad' failed with ZeroDivisionError: by nothing; tell its author"]
    assert "bad" in as_text(comparison_table({**found, "dimensions": {}, "overall": {}}))


@pytest.mark.parametrize("metrics", [("silent",), ("bad",), ()], ids=str)
def test_without_a_metric_that_compares_it_cannot_start(make_run: MakeRun, metrics: tuple[str, ...]) -> None:
    catalog: Any = Metrics(silent=Silent(), bad=Failing())
    with pytest.raises(StartError, match=r"no metric that compares runs.*list-plugins"):
        compare_runs(*runs_of(make_run, *metrics), catalog, 0.1)


def rendered(comparison: dict[str, Any], width: int) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(comparison_table(comparison))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [120, 80, 60, 30])
def test_no_number_is_lost_at_any_width(compare: Any, width: int) -> None:
    found = compare([S, S, F, S] * 7, [F, S, S, F] * 7)
    numbers = [
        set(re.findall(r"[+-]?\d+\.\d+", text)) for text in (as_text(comparison_table(found)), rendered(found, width))
    ]
    assert numbers[0] == numbers[1]
    paths = [f"run {run['run']}" for run in found["runs"]]
    assert all(len(line) <= width for line in rendered(found, width).splitlines() if line not in paths)


def test_the_table_says_what_was_compared_and_what_was_left_out(compare: Any) -> None:
    text = as_text(comparison_table(compare([S] * 28, [F] * 11)))
    assert "first: expert, run" in text
    assert "n = 11 episodes in common; left out: 17 of first" in text
    assert re.search(r"^color +100\.00 +0\.00 +-100\.00 ", text, re.M)
    assert re.search(r"^all dimensions +-100\.00 ", text, re.M)


def test_no_difference_has_no_sign(compare: Any) -> None:
    assert re.search(
        r"^color +50\.00 +50\.00 +0\.00 ", as_text(comparison_table(compare([S, F] * 14, [S, F] * 14))), re.M
    )
