"""The figures of the page as SVG, each about as wide as a phone so that any screen fits one or several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from rbench.reporting.figures.before_after import before_after_panel, wrapper_limit
from rbench.reporting.figures.bias_bars import bias_limit
from rbench.reporting.figures.drawing import PAGE, drawing
from rbench.reporting.figures.page_svg import page_svg
from rbench.reporting.figures.run_panels import (
    Panel,
    bias_overview,
    bias_rows,
    dimension_panel,
    grid_panel,
    group_order_of,
)
from rbench.reporting.figures.word_panels import bar_panel, level_panel
from rbench.reporting.histograms import histograms_of
from rbench.reporting.json_pointer import pointer
from rbench.reporting.plotted import Table
from rbench.reporting.run_report import RunReport

WIDTH = 372.0
#: Words side by side that can be read in a panel of this width.
_WORDS = 10


@dataclass(frozen=True)
class PageFigure:
    """A figure: its kind (see `Panel`) and its SVG."""

    kind: str
    svg: Markup


@dataclass(frozen=True)
class PageFigures:
    """Figures by run number, and by dimension or grid; `wrappers` by the labels before and after.

    `words` by run number, metric and number of the histogram: its bars, and its levels where it has some.
    """

    bias: dict[int, PageFigure] = field(default_factory=dict)
    dimensions: dict[tuple[int, str], PageFigure] = field(default_factory=dict)
    grids: dict[tuple[int, str], PageFigure] = field(default_factory=dict)
    wrappers: dict[tuple[str, str], PageFigure] = field(default_factory=dict)
    words: dict[tuple[int, str, int], list[PageFigure]] = field(default_factory=dict)


def page_figures(reports: Sequence[RunReport], tables: Mapping[str, Table]) -> PageFigures:
    """Draw everything that there are episodes for.

    Raises:
        StartError: matplotlib is not installed.
    """
    figures = PageFigures()
    rows = [bias_rows(report, number) for number, report in enumerate(reports)]
    right = bias_limit([row for of_run in rows for row in of_run])
    for number, report in enumerate(reports):
        if any(row["cv"] is not None for _, _, row in rows[number]):
            figures.bias[number] = _figure(bias_overview(report, rows[number], right), f"bias-{number}")
        for place, dimension in enumerate(report.dimensions):
            if report.tallies.dimensions[dimension.name].cells:
                order = group_order_of(reports, dimension, tables)
                panel = dimension_panel(report, dimension, tables, order=order)
                figures.dimensions[number, dimension.name] = _figure(panel, f"levels-{number}-{place}")
        for place, dimension in enumerate(report.grids):
            panel = grid_panel(report, dimension, tables)
            figures.grids[number, dimension.name] = _figure(panel, f"grid-{number}-{place}")
        for place, histogram in enumerate(h for h in histograms_of(report.summary) if h.total and h.counts):
            base = ("runs", number, "metrics", histogram.metric, "histograms", histogram.place)
            panels = [bar_panel(histogram, base), *([level_panel(histogram, _WORDS)] if histogram.by else [])]
            figures.words[number, histogram.metric, histogram.place] = [
                _figure(panel, f"words-{number}-{place}-{part}") for part, panel in enumerate(panels)
            ]
    figures.wrappers.update(_wrapper_figures(tables["wrappers"]))
    return figures


def _wrapper_figures(table: Table) -> dict[tuple[str, str], PageFigure]:
    found: dict[tuple[str, str], PageFigure] = {}
    for before, after in dict.fromkeys((row["before"], row["after"]) for _, row in table.where()):
        rows = [(pointer("tables", table.name, "rows", n), r) for n, r in table.where(before=before, after=after)]
        words = [f"{row['dimension']} {row['cv_before']} to {row['cv_after']}" for _, row in rows]
        right = wrapper_limit([row for _, row in rows])
        with drawing(WIDTH / 72, (50 + 34 * len(rows)) / 72, PAGE) as drawn:
            drawn.alt = f"Bias coefficients from {before} to {after}: {', '.join(words)}"
            before_after_panel(drawn, drawn.figure.add_subplot(), rows, right, (before, after))
            found[before, after] = PageFigure("wrappers", Markup(page_svg(drawn, f"wrapper-{len(found)}")))
    return found


def _figure(panel: Panel, name: str) -> PageFigure:
    with drawing(WIDTH / 72, panel.height / 72, PAGE) as drawn:
        drawn.alt = panel.alt
        panel.draw(drawn, drawn.figure.add_subplot())
        # Escaped when it was serialised.
        return PageFigure(panel.kind, Markup(page_svg(drawn, name)))
