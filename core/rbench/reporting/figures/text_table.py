"""A table of text as a figure, ruled like a table of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rbench.reporting.figures.drawing import Drawing, Theme, short
from rbench.reporting.paper_tables import PaperTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Width of a character and height of a line, in sizes of the font.
_CHARACTER, _LINE = 0.62, 1.75


def table_size(table: PaperTable, theme: Theme) -> tuple[float, float]:
    """Width and height in inches."""
    inch = theme.font / 72
    lines = len(table.rows) + (2 if table.groups else 1) + 0.6
    return sum(_widths(table)) * inch, lines * _LINE * inch


def text_table(drawing: Drawing, axes: Axes, table: PaperTable) -> None:
    """Draw it on axes that fill a figure of `table_size`."""
    theme = drawing.theme
    widths = _widths(table)
    height = len(table.rows) + (2 if table.groups else 1) + 0.6
    axes.set_xlim(0, sum(widths))
    axes.set_ylim(-height, 0)
    axes.set_axis_off()
    edges = [sum(widths[:column]) for column in range(len(widths) + 1)]
    line = 0.3
    _rule(drawing, axes, 0, edges[-1], line - 0.2, 1.6)
    if table.groups:
        column = 0
        for heading, span in table.groups:
            left, right = edges[column], edges[column + span]
            drawing.text(axes, (left + right) / 2, -line - 0.4, short(heading), ha="center", va="center")
            if heading:
                _rule(drawing, axes, left + 0.4, right - 0.2, line + 0.85, 0.8)
            column += span
        line += 1
    _cells(drawing, axes, table, edges, line, table.columns, None)
    line += 1
    _rule(drawing, axes, 0, edges[-1], line, 1.0)
    for number, row in enumerate(table.rows):
        if number in table.ruled:
            _rule(drawing, axes, 0, edges[-1], line, 0.8)
        _cells(drawing, axes, table, edges, line, row, number)
        line += 1
    _rule(drawing, axes, 0, edges[-1], line + 0.05, 1.6)
    drawing.alt = table.caption
    axes.set_facecolor(theme.surface)


def _cells(
    drawing: Drawing,
    axes: Axes,
    table: PaperTable,
    edges: Sequence[float],
    line: float,
    cells: Sequence[str],
    row: int | None,
) -> None:
    for column, text in enumerate(cells):
        weight = "bold" if row is not None and (row, column) in table.bold else "normal"
        left = column < table.words
        x = edges[column] + 0.3 if left else edges[column + 1] - 0.3
        drawing.text(axes, x, -line - 0.5, short(text), ha="left" if left else "right", va="center", fontweight=weight)
        if row is not None and (row, column) in table.underlined:
            _rule(drawing, axes, x - _CHARACTER * len(short(text)), x, line + 0.85, 0.7)


def _rule(drawing: Drawing, axes: Axes, left: float, right: float, line: float, width: float) -> None:
    axes.plot([left, right], [-line, -line], color=drawing.theme.ink, linewidth=drawing.theme.line * width * 0.8)


def _widths(table: PaperTable) -> list[float]:
    """Width of each column in sizes of the font, wide enough for its texts and its share of a group's heading."""
    widths = [
        max(len(short(text)) for text in (heading, *(row[column] for row in table.rows))) * _CHARACTER + 1.2
        for column, heading in enumerate(table.columns)
    ]
    column = 0
    for heading, span in table.groups:
        lacking = (len(short(heading)) * _CHARACTER + 1.2 - sum(widths[column : column + span])) / span
        for place in range(column, column + span):
            widths[place] += max(0.0, lacking)
        column += span
    return widths
