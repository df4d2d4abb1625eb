"""Every number on the page is a number of the JSON report, or of the tables that the page carries."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.reporting.html.document import document, script_data
from rbench.reporting.plotted import Table, tables
from rbench.reporting.run_report import RunReport
from rbench.reporting.tables_csv import csv_files
from rbench.results.run_directory import open_run

WriteRun = Callable[..., Path]
Build = Callable[..., Any]


def rows_of(document: Any, table: str) -> list[dict[str, Any]]:
    found = document["tables"][table]
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def test_the_page_carries_the_json_report(judged: Path, judged_page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(judged), "--format", "json"]) == 0
    (expected,) = json.loads(capsys.readouterr().out)
    (found,) = judged_page.document["runs"]
    assert found.pop("label") == "looker"
    assert found == expected


def test_every_number_is_the_one_at_its_place_in_the_json(page: Build, judged_page: Any, half: Path) -> None:
    for found in (judged_page, page(half)):
        check_numbers(found)


def check_numbers(found: Any) -> None:
    marked = found.all("data")
    assert len(marked) > 150
    for attributes, text in marked:
        value = found.at(str(attributes["data-path"]))
        assert float(str(attributes["value"])) == value
        assert text.replace(",", "") in _written(value), (attributes, text)


def _written(value: float) -> set[str]:
    """A number as it may be written: as a count, or rounded half up, as it is or in percent, with or without sign."""
    exact = Decimal(repr(value))
    forms = {str(value)} if isinstance(value, int) else set()
    for number in (exact, 100 * exact, abs(exact), abs(100 * exact)):
        for places in (1, 2, 3):
            text = str(number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
            forms |= {text, f"+{text}", text.replace("-", "−")}
    return forms | ({"<0.001"} if value < 0.001 else set())


def test_no_number_stands_outside_a_data_element_in_the_tables(judged_page: Any) -> None:
    html = judged_page.html
    without = re.sub(r"<data .*?</data>", "", html)
    for table in re.findall(r"<table class=\"(?:sortable|bars).*?</table>", without, re.DOTALL):
        for cell in re.findall(r"<td[^>]*>(.*?)</td>", table, re.DOTALL):
            assert not re.search(r"\d", re.sub(r"<[^>]*>", "", cell)), cell


def test_every_mark_of_a_figure_says_the_number_at_its_place(judged_page: Any) -> None:
    found = judged_page
    marks = re.findall(r'class="mark" data-path="([^"]+)"[^>]*><title>([^<]+)</title>', found.html)
    assert len(marks) > 40
    for path, tip in marks:
        value = found.at(path)
        if isinstance(value, list) and "tables" in path:
            table = found.document["tables"][path.split("/")[2]]
            row = dict(zip(table["columns"], value, strict=True))
            assert f"({row['successes']}/{row['episodes']})" in tip
        elif isinstance(value, float):
            assert str(Decimal(repr(value)).quantize(Decimal("0.01"), ROUND_HALF_UP)) in tip


def test_counts_by_level_are_those_of_the_records(half: Path, page: Build) -> None:
    counted: Counter[tuple[str, ...]] = Counter()
    successes: Counter[tuple[str, ...]] = Counter()
    for record in open_run(half).episodes():
        key = (record.dimension, *(record.levels[f] for f in record.dimension.split("+")))
        counted[key] += 1
        successes[key] += record.success
    carried = page(half).document
    rows = [((r["dimension"], r["level"]), r) for r in rows_of(carried, "levels")]
    rows += [((r["dimension"], r["level"], r["other_level"]), r) for r in rows_of(carried, "grid")]
    assert sum(row["episodes"] for _, row in rows) == 77
    for key, row in rows:
        assert (row["episodes"], row["successes"]) == (counted[key], successes[key])


def test_counts_of_reasons_add_up_to_the_outcomes(judged_page: Any) -> None:
    carried = judged_page.document
    reasons = rows_of(carried, "reasons")
    for outcome in ("success", "failure"):
        overall = sum(r["episodes"] for r in reasons if r["outcome"] == outcome and r["dimension"] is None)
        assert overall == carried["runs"][0]["counts"][outcome]
        assert overall == sum(r["episodes"] for r in rows_of(carried, "outcomes") if r["outcome"] == outcome)


def test_rates_of_groups_are_those_of_the_metric(judged_page: Any) -> None:
    carried = judged_page.document
    groups = carried["runs"][0]["dimensions"]["color"]["groups"]
    rows = {r["group"]: r for r in rows_of(carried, "groups")}
    assert rows.keys() == groups.keys() == {"red", "white"}
    for name, group in groups.items():
        assert rows[name]["success_rate"] == group["success_rate"]
        assert [rows[name]["low"], rows[name]["high"]] == group["success_rate_interval"]


def test_a_comparison_on_the_page_is_that_of_rbench_compare(
    pair: tuple[Path, Path], pair_page: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *map(str, pair), "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert pair_page.document["comparisons"] == [expected]


def test_csv_holds_the_same_numbers(judged: Path, reports: Build, judged_page: Any) -> None:
    carried = judged_page.document
    files = csv_files(tables(reports(judged)))
    for name, table in carried["tables"].items():
        rows = list(csv.DictReader(io.StringIO(files[f"{name}.csv"]))) if table["rows"] else []
        assert len(rows) == len(table["rows"])
        for row, values in zip(rows, table["rows"], strict=True):
            for column, value in zip(table["columns"], values, strict=True):
                if isinstance(value, (int, float)):
                    assert float(row[column]) == value
                else:
                    assert row[column] == ("" if value is None else value)
    rows = {row["dimension"]: row for row in csv.DictReader(io.StringIO(files["dimensions.csv"]))}
    for name, row in carried["runs"][0]["dimensions"].items():
        assert float(rows[name]["cv"]) == row["cv"]
        assert [float(rows[name][f"cv_floor_{end}"]) for end in ("low", "high")] == row["cv_floor_interval"]


def test_numbers_that_are_not_finite_become_unknown(reports: Build, write_run: WriteRun) -> None:
    (report,) = reports(write_run())
    bad = {**report.summary, "average": {"success_rate": math.nan, "cv": math.inf, "cv_debiased": -math.inf}}
    broken = RunReport("looker", report.run, bad, report.tallies)
    empty = {name: Table(name, "", ("x",), ((math.nan,),)) for name in tables([report])}
    carried = document([broken], empty)
    assert carried["runs"][0]["average"] == {"success_rate": None, "cv": None, "cv_debiased": None}
    assert carried["tables"]["levels"]["rows"] == [[None]]
    assert "NaN" not in script_data(carried)


def test_a_number_that_is_not_finite_never_gets_into_a_script_block() -> None:
    with pytest.raises(ValueError, match="JSON"):
        script_data({"x": math.nan})


def test_no_nan_on_a_page_of_few_episodes(write_run: WriteRun, page: Build) -> None:
    for limit in (1, 2, 5):
        found = page(write_run(f"run-{limit}", limit=limit, metrics=("bias",)))
        assert not re.search(r"\b(nan|inf|infinity)\b", found.html.lower().replace("info", ""))


def test_the_convention_is_named_and_used(judged: Path, page: Build) -> None:
    found = page(judged, convention="paper")
    assert "paper convention" in found.text
    assert found.document["runs"][0]["convention"] == "paper"
