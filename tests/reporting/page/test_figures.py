"""Figures for papers: their names, what they show, and that the same numbers give the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rbench.cli import main
from rbench.errors import StartError
from rbench.reporting.figures.drawing import PAGE, PAGE_COLORS, PAPER, drawing
from rbench.reporting.figures.page_svg import page_svg
from rbench.reporting.figures.paper import write_figures
from rbench.reporting.figures.rate_colors import rate_color, text_color
from rbench.reporting.figures.run_panels import bias_overview, bias_rows, dimension_panel, grid_panel
from rbench.reporting.level_kinds import levels_of
from rbench.reporting.plotted import tables
from rbench.reporting.run_report import RunReport

WriteRun = Callable[..., Path]
Reports = Callable[..., list[RunReport]]


@pytest.fixture(scope="module")
def report(judged: Path, catalog: Any) -> RunReport:
    from rbench.reporting.run_report import gather
    from rbench.results.run_directory import open_run

    return gather([open_run(judged)], catalog)[0]


def test_figures_have_the_names_of_the_paper(pair: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    assert main(["report", *map(str, pair), "--format", "figures", "-o", str(folder)]) == 0
    names = {path.stem for path in folder.iterdir()}
    assert names >= {"fig2", "fig3", "fig4", "fig7", "table1", "table2"}
    assert {path.name for path in folder.iterdir()} == {f"{name}.{form}" for name in names for form in ("pdf", "svg")}
    for path in folder.iterdir():
        if path.suffix == ".pdf":
            assert path.read_bytes().startswith(b"%PDF")
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_a_run_alone_has_no_figure_of_a_wrapper(report: RunReport, tmp_path: Path) -> None:
    names = {path.stem for path in write_figures([report], tmp_path)}
    assert "fig7" not in names
    assert names >= {"fig2", "fig3", "fig4", "bias", "levels-color", "levels-camera-euler", "levels-texture"}


def test_a_run_without_episodes_has_its_table_alone(write_run: WriteRun, reports: Reports, tmp_path: Path) -> None:
    written = write_figures(reports(write_run(limit=0)), tmp_path)
    assert {path.stem for path in written} == {"table1", "evidence"}


def test_the_same_run_gives_the_same_bytes(report: RunReport, tmp_path: Path) -> None:
    first, second = write_figures([report], tmp_path / "a"), write_figures([report], tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_nothing_is_left_in_the_home_of_the_user(judged: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MPL"))}
    arguments = ["report", str(judged), "--format", "figures", "-o", str(tmp_path / "figures")]
    done = subprocess.run(
        [sys.executable, "-m", "rbench", *arguments],
        env={**environ, "HOME": str(home), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert list(home.iterdir()) == []
    assert not list(tmp_path.glob("rbench-matplotlib-*"))


def test_without_matplotlib_one_line_says_how_to_get_it(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = str(write_run())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for form in ("html", "figures"):
        assert main(["report", path, "--format", form, "-o", str(tmp_path / form)]) == 3
        assert "pip install 'rbench[report]'" in capsys.readouterr().err
    assert main(["report", path, "--format", "table"]) == 0


def test_without_jinja2_one_line_says_how_to_get_it(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "rbench.reporting.html.page", raising=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["report", str(write_run()), "--format", "html"]) == 3
    assert "pip install 'rbench[report]'" in capsys.readouterr().err


def test_settings_of_matplotlib_are_left_as_they_were() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    with drawing(1, 1, PAPER):
        assert matplotlib.rcParams["font.size"] == PAPER.font
    assert dict(matplotlib.rcParams) == before
    with pytest.raises(StartError), drawing(1, 1, PAPER):
        raise StartError("left early")
    assert dict(matplotlib.rcParams) == before


def test_bars_are_as_long_as_the_coefficients(report: RunReport) -> None:
    rows = bias_rows(report, 0)
    with drawing(5, 3, PAGE) as drawn:
        axes = drawn.figure.add_subplot()
        bias_overview(report, rows, 120.0).draw(drawn, axes)
        widths = {patch.get_gid(): patch.get_width() for patch in axes.patches}
        found = {mark.path: widths[mark.id] for mark in drawn.marks if mark.path.endswith("/cv")}
    expected = {f"{path}/cv": row["cv"] for _, path, row in rows if row["cv"] is not None}
    assert found == pytest.approx(expected)


def test_cells_of_the_heat_map_hold_the_successes(report: RunReport) -> None:
    found = tables([report])
    with drawing(5, 5, PAGE) as drawn:
        axes = drawn.figure.add_subplot()
        grid_panel(report, report.grids[0], found).draw(drawn, axes)
        texts = [text.get_text() for text in axes.texts]
    assert texts == [str(row["successes"]) for _, row in found["grid"].where()]


def test_wedges_of_the_orbit_are_coloured_by_success(report: RunReport) -> None:
    found = tables([report])
    with drawing(5, 3, PAGE) as drawn:
        axes = drawn.figure.add_subplot()
        dimension_panel(report, _dimension(report, "camera-pose"), found).draw(drawn, axes)
        colors = {patch.get_gid(): patch.get_facecolor() for patch in axes.patches}
        marks = {mark.path: colors[mark.id] for mark in drawn.marks}
    from matplotlib.colors import to_rgba

    rows = found["levels"].where(dimension="camera-pose")
    assert marks == {f"/tables/levels/rows/{n}": to_rgba(rate_color(row["success_rate"])) for n, row in rows}


def test_the_first_place_of_a_ring_is_on_the_left_and_the_lowest_ring_outside(report: RunReport) -> None:
    with drawing(5, 3, PAGE) as drawn:
        axes = drawn.figure.add_subplot()
        dimension_panel(report, _dimension(report, "camera-pose"), tables([report])).draw(drawn, axes)
        wedges = {drawn.marks[n].tip.split(":")[0]: patch for n, patch in enumerate(axes.patches)}
    assert wedges["r1a1"].theta1 < wedges["r1a2"].theta1 < wedges["r1a3"].theta1
    assert wedges["r1a1"].theta1 >= 180
    assert wedges["r1a3"].theta2 <= 360
    assert wedges["r1a1"].r > wedges["r2a1"].r


@pytest.mark.parametrize(
    ("names", "values", "kind"),
    [
        (("crimson", "lime"), {"crimson": [220, 20, 60]}, "colors"),
        (("r1a1", "r1a2", "r2a1"), {}, "rings"),
        (("yaw-6_pitch0", "yaw6_pitch0"), {"yaw-6_pitch0": [-6.0, 0.0], "yaw6_pitch0": [6.0, 0.0]}, "pairs"),
        (("near", "far"), {"near": 0.1, "far": 0.4}, "numbers"),
        (("wood", "stone"), {"wood": "wood"}, "names"),
        (("on", "off"), {"on": True, "off": False}, "names"),
        (("a", "b"), {"a": 1.0, "b": 1.0}, "names"),
        (("a", "b"), {"a": [300, 0, 0], "b": [0, 0, 0]}, "names"),
        (("a", "b"), {}, "names"),
    ],
)
def test_levels_are_drawn_as_what_they_are(names: Sequence[str], values: dict[str, Any], kind: str) -> None:
    assert levels_of(names, values).kind == kind


def test_a_figure_on_the_page_has_the_colours_of_the_page(report: RunReport) -> None:
    with drawing(5, 3, PAGE) as drawn:
        panel = dimension_panel(report, _dimension(report, "camera-euler"), tables([report]))
        drawn.alt = panel.alt
        panel.draw(drawn, drawn.figure.add_subplot())
        svg = page_svg(drawn, "name")
    assert "var(--ink)" in svg or "var(--muted)" in svg
    assert not any(token in svg for token in PAGE_COLORS)
    assert "font-family" not in svg
    assert "DejaVu" not in svg
    root = ElementTree.fromstring(svg)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert all(str(id).startswith("name-") for id in ids)
    assert len(ids) == len(set(ids))


def test_text_on_a_colour_can_be_read() -> None:
    assert text_color("#000000") == text_color("#440154") == "#ffffff"
    assert text_color("#ffffff") == text_color("#fde725") == "#000000"


def _dimension(report: RunReport, name: str) -> Any:
    return next(d for d in report.dimensions if d.name == name)
