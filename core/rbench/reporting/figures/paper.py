"""The paper's Figures 2 to 7 and 13 and Tables 1 and 2 by name, and two more, as PDF and SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rbench.design import Dimension
from rbench.reporting.figures.before_after import before_after_panel, wrapper_limit
from rbench.reporting.figures.bias_bars import bias_limit
from rbench.reporting.figures.drawing import PAPER, Drawing, drawing, short
from rbench.reporting.figures.group_bars import group_bars
from rbench.reporting.figures.run_panels import Panel, bias_overview, bias_rows, dimension_panel, grid_panel
from rbench.reporting.figures.text_table import table_size, text_table
from rbench.reporting.figures.word_panels import bar_panel, level_panel
from rbench.reporting.histograms import histograms_of
from rbench.reporting.paper_tables import PaperTable, paper_tables
from rbench.reporting.plotted import Table, tables
from rbench.reporting.run_report import RunReport
from rbench.results.atomic import replacing_binary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Width of a page of text and of one panel, inches; a panel is drawn for a width of 360.
_PAGE, _PANEL = 6.9, 2.3


@dataclass(frozen=True)
class PaperFigure:
    """A figure: a name, and a function that draws it and yields the drawing."""

    name: str
    draw: Callable[[], AbstractContextManager[Drawing]]


def write_figures(reports: Sequence[RunReport], folder: Path) -> list[Path]:
    """Write `NAME.pdf` and `NAME.svg` of every figure that the runs have data for.

    Args:
        reports: from `rbench.reporting.run_report.gather`.
        folder: made when it is not there.

    Returns:
        The files written.

    Raises:
        StartError: matplotlib is not installed. OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in paper_figures(reports):
        with figure.draw() as drawn:
            for form, metadata in (("pdf", {"CreationDate": None, "Creator": None}), ("svg", {"Date": None})):
                path = folder / f"{figure.name}.{form}"
                with replacing_binary(path) as file:
                    drawn.figure.savefig(file, format=form, metadata=metadata)
                written.append(path)
    return written


def paper_figures(reports: Sequence[RunReport]) -> Iterator[PaperFigure]:
    """Every figure that the runs have data for."""
    found = tables(reports)
    shown = [report for report in reports if report.tallies.episodes]
    labels = [report.label for report in shown]
    for dimension in _dimensions(shown):
        if found["groups"].where(dimension=dimension.name):
            yield PaperFigure("fig2", partial(_group_figure, found["groups"], dimension.name, labels))
            break
    yield from _ring_figures(shown, found)
    grids = [(grid_panel(report, grid, found), report.label) for report in shown for grid in report.grids]
    if grids:
        yield PaperFigure("fig4", partial(_side_by_side, grids))
    if found["wrappers"].rows:
        yield PaperFigure("fig7", partial(_wrapper_figure, found["wrappers"]))
    yield from _word_figures(shown)
    for table in paper_tables(reports):
        yield PaperFigure(table.name, partial(_table_figure, table))
    rows = [bias_rows(report, number) for number, report in enumerate(shown)]
    right = bias_limit([row for of_run in rows for row in of_run])
    if rows:
        panels = [bias_overview(report, of_run, right) for report, of_run in zip(shown, rows, strict=True)]
        yield PaperFigure("bias", partial(_side_by_side, list(zip(panels, labels, strict=True))))
    for dimension in _dimensions(shown):
        labelled = _dimension_panels(shown, dimension, found)
        if labelled[0][0].kind != "rings":
            yield PaperFigure(f"levels-{_file_name(dimension.name)}", partial(_side_by_side, labelled))


def _word_figures(reports: Sequence[RunReport]) -> Iterator[PaperFigure]:
    """Histograms of words that metrics give, and the same by what was true."""
    panels: dict[str, list[tuple[Panel, str]]] = {}
    for report in reports:
        for histogram in histograms_of(report.summary):
            if not histogram.counts:
                continue
            drawn = [bar_panel(histogram), *([level_panel(histogram)] if histogram.by else [])]
            for panel in drawn:
                panels.setdefault(panel.key, []).append((panel, report.label))
    for key, labelled in panels.items():
        yield PaperFigure(_file_name(key), partial(_side_by_side, labelled))


def _ring_figures(reports: Sequence[RunReport], found: Mapping[str, Table]) -> Iterator[PaperFigure]:
    for dimension in _dimensions(reports):
        labelled = _dimension_panels(reports, dimension, found)
        if labelled[0][0].kind == "rings":
            context = _baseline_context(reports[0], dimension)
            yield PaperFigure("fig3", partial(_side_by_side, _dimension_panels(reports, dimension, found, context)))
            yield PaperFigure("fig3-all-contexts", partial(_side_by_side, labelled))
            return


def _dimension_panels(
    reports: Sequence[RunReport], dimension: Dimension, found: Mapping[str, Table], context: str | None = None
) -> list[tuple[Panel, str]]:
    """The panel of every run that has the dimension, and what stands above it."""
    return [
        (dimension_panel(report, own, found, context), f"{report.label} ({context})" if context else report.label)
        for report in reports
        for own in report.dimensions
        if own.name == dimension.name
    ]


def _dimensions(reports: Sequence[RunReport]) -> list[Dimension]:
    return list({d.name: d for report in reports for d in report.dimensions}.values())


def _baseline_context(report: RunReport, dimension: Dimension) -> str:
    """The first context in which every context factor has its baseline, else the first of all."""
    design = report.manifest.design
    plain = [
        context.name
        for context in design.contexts
        if context.name in dimension.contexts
        and all(design.baselines.get(factor) == level for factor, level in context.levels.items())
    ]
    return plain[0] if plain else dimension.contexts[0]


@contextmanager
def _side_by_side(panels: Sequence[tuple[Panel, str]]) -> Iterator[Drawing]:
    """Panels in rows of three, each under its label."""
    across = min(3, len(panels))
    down = -(-len(panels) // 3)
    height = max(panel.height for panel, _ in panels) / 360 * _PANEL + 0.25
    with drawing(_PANEL * across, height * down, PAPER) as drawn:
        axes = drawn.figure.subplots(down, across, squeeze=False).ravel()
        for place, (panel, label) in zip(axes, panels, strict=False):
            panel.draw(drawn, place)
            _title(drawn, place, label)
        for place in axes[len(panels) :]:
            place.set_visible(False)
        yield drawn


@contextmanager
def _group_figure(groups: Table, dimension: str, labels: Sequence[str]) -> Iterator[Drawing]:
    with drawing(_PAGE, 2.2, PAPER) as drawn:
        rows = [row for _, row in groups.where(dimension=dimension)]
        group_bars(drawn, drawn.figure.add_subplot(), rows, labels)
        yield drawn


@contextmanager
def _wrapper_figure(table: Table) -> Iterator[Drawing]:
    pairs = list(dict.fromkeys((row["before"], row["after"]) for _, row in table.where()))
    right = wrapper_limit([row for _, row in table.where()])
    with drawing(min(_PAGE, 3.4 * len(pairs)), 1.9 * -(-len(pairs) // 2), PAPER) as drawn:
        across = min(2, len(pairs))
        axes = drawn.figure.subplots(-(-len(pairs) // 2), across, squeeze=False).ravel()
        for place, (before, after) in zip(axes, pairs, strict=False):
            rows = [("", row) for _, row in table.where(before=before, after=after)]
            before_after_panel(drawn, place, rows, right, (before, after))
            _title(drawn, place, f"{before} → {after}")
        for place in axes[len(pairs) :]:
            place.set_visible(False)
        yield drawn


@contextmanager
def _table_figure(table: PaperTable) -> Iterator[Drawing]:
    with drawing(*table_size(table, PAPER), PAPER, fitted=False) as drawn:
        text_table(drawn, drawn.figure.add_axes((0, 0, 1, 1)), table)
        yield drawn


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", name)[:60].strip(".-") or "unnamed"


def _title(drawn: Drawing, axes: Axes, label: str) -> None:
    above_legend = drawn.theme.font * (0.8 if axes.get_legend() is None else 2.3)
    axes.set_title(short(label), pad=above_legend, fontsize=drawn.theme.font * 1.1, color=drawn.theme.ink)
