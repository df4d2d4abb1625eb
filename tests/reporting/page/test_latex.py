"""LaTeX tables: numbers as the paper prints them, and any text escaped."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.reporting.latex import escaped, latex_table, latex_tables
from rbench.reporting.paper_tables import PaperTable, paper_tables
from rbench.reporting.run_report import RunReport

WriteRun = Callable[..., Path]
Reports = Callable[..., list[RunReport]]


def with_numbers(report: RunReport, label: str, rows: dict[str, tuple[float | None, float | None]]) -> RunReport:
    """The report of a run with other rates and coefficients."""
    old = report.summary["dimensions"]
    dimensions = {name: {**old[name], "success_rate": rate, "cv": cv} for name, (rate, cv) in rows.items()}
    return replace(report, label=label, summary={**report.summary, "dimensions": {**old, **dimensions}})


def cells(table: PaperTable, row: int) -> dict[str, str]:
    groups = [name for name, width in table.groups for _ in range(width)]
    return {
        f"{group} {column}".strip(): cell
        for group, column, cell in zip(groups, table.columns, table.rows[row], strict=True)
    }


def test_table_1_has_a_row_a_run_and_two_columns_a_dimension(pair: tuple[Path, Path], reports: Reports) -> None:
    found = reports(*pair)
    table = paper_tables(found)[0]
    assert table.columns == ("Agent", *("SR", "CV") * 6)
    assert [row[0] for row in table.rows] == ["looker", "sgl(looker)"]
    row = found[0].summary["dimensions"]["color"]
    assert cells(table, 0)["color CV"] == f"{row['cv']:.2f}"
    assert cells(table, 0)["color SR"] == f"{100 * row['success_rate']:.2f}"


def test_numbers_are_rounded_half_up_and_undefined_ones_are_not_available(
    write_run: WriteRun, reports: Reports
) -> None:
    (report,) = reports(write_run())
    changed = with_numbers(report, "a", {"texture": (0.58595, None)})
    found = cells(paper_tables([changed])[0], 0)
    assert (found["texture SR"], found["texture CV"]) == ("58.60", "N/A")


def test_the_lowest_coefficient_of_a_column_is_bold(write_run: WriteRun, reports: Reports) -> None:
    (report,) = reports(write_run())
    runs = [
        with_numbers(report, name, {"texture": (0.5, cv)}) for name, cv in zip("abc", (20.0, 10.0, None), strict=True)
    ]
    table = paper_tables(runs)[0]
    assert table.bold == {(1, 2)}
    assert "b & 50.00 & \\textbf{10.00}" in latex_table(table)


def test_ties_are_all_bold_and_a_column_of_equals_has_no_best(write_run: WriteRun, reports: Reports) -> None:
    (report,) = reports(write_run())
    runs = [with_numbers(report, n, {"texture": (0.5, cv)}) for n, cv in zip("abc", (9.999, 10.001, 12.0), strict=True)]
    assert paper_tables(runs)[0].bold == {(0, 2), (1, 2)}
    assert paper_tables(runs[:2])[0].bold == frozenset()


def test_table_2_has_both_directions_and_an_average(pair: tuple[Path, Path], reports: Reports) -> None:
    found = reports(*pair)
    table = next(t for t in paper_tables(found) if t.name == "table2")
    assert table.columns == (
        "Agent",
        "CV(color)",
        "IEC(color; camera-pose)",
        "CV(camera-pose)",
        "IEC(camera-pose; color)",
    )
    assert [row[0] for row in table.rows] == ["looker", "sgl(looker)", "Average"]
    grid = found[0].summary["interactions"][0]
    assert table.rows[0][3] == f"{grid['cv']['camera-pose']:.2f}"


def test_tables_are_those_of_booktabs(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *map(str, pair), "--format", "latex"]) == 0
    latex = capsys.readouterr().out
    assert latex.count("\\toprule") == latex.count("\\bottomrule") == latex.count("\\begin{tabular}") == 3
    for body in re.findall(r"\\begin\{tabular\}\{(.*?)\}(.*?)\\end\{tabular\}", latex, re.DOTALL):
        alignment, text = body
        for line in text.splitlines():
            if line.endswith("\\\\") and "multicolumn" not in line:
                assert len(re.split(r"(?<!\\)&", line)) == len(alignment), line


def test_a_half_finished_privileged_run_says_so_in_a_comment(write_run: WriteRun, reports: Reports) -> None:
    from rbench.results.manifest import AgentUsed

    agent = AgentUsed("expert", "x/expert", "x", "1", privileged=True)
    comments = [line for line in latex_tables(reports(write_run(limit=5, agent=agent))).splitlines() if line[:1] == "%"]
    assert "% expert: NOT FINISHED, 43 episodes are missing" in comments
    assert "% expert: PRIVILEGED, reads ground truth" in comments


def test_every_special_character_is_escaped() -> None:
    assert escaped("50% of $x_1 & {y}~^\\#") == (
        r"50\% of \$x\_1 \& \{y\}\textasciitilde{}\textasciicircum{}\textbackslash{}\#"
    )
    assert escaped("pi π é 🤖\n%\x00") == r"pi U+03C0 é U+1F916 \%\textbackslash{}x00"


def test_pdflatex_accepts_it(pair: tuple[Path, Path], reports: Reports, tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex here: apt-get install texlive-latex-recommended")
    hostile = [replace(report, label="50% $x_1$ & {π} \\end{tabular} ~^#") for report in reports(*pair)]
    head = "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage[utf8]{inputenc}\\usepackage{booktabs}"
    (tmp_path / "t.tex").write_text(f"{head}\\begin{{document}}\n{latex_tables(hostile)}\\end{{document}}\n")
    arguments: list[Any] = [program, "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
