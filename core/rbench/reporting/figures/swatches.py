"""Success by colour: a row for each family, a dot in its own colour for each colour, a bar for the family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rbench.reporting.figures.drawing import Drawing, tick_labels
from rbench.reporting.figures.tips import rate_tip
from rbench.reporting.level_kinds import Levels
from rbench.reporting.plotted import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What levels without a group are called.
UNGROUPED = "all"


def swatch_panel(
    drawing: Drawing,
    axes: Axes,
    levels: Levels,
    rows: Mapping[str, tuple[str, Row]],
    groups: Mapping[str, tuple[str, Row]],
    order: list[str],
) -> None:
    """Draw it.

    Args:
        rows: level -> where its row is in the document, and the row.
        groups: group -> the same; may lack intervals.
        order: groups from top to bottom.
    """
    theme = drawing.theme
    for place, group in enumerate(order):
        y = -place
        if group in groups:
            _bar(drawing, axes, y, group, *groups[group])
        members = [name for name in levels.names if (rows[name][1]["group"] or UNGROUPED) == group]
        members = [name for name in members if rows[name][1]["episodes"]]
        for number, name in enumerate(sorted(members, key=lambda name: (rows[name][1]["success_rate"], name))):
            path, row = rows[name]
            # Neighbours of nearly the same rate go to different heights; the order makes it the same every time.
            height = y + (-0.2, 0.0, 0.2, -0.1, 0.1)[number % 5]
            (dot,) = axes.plot(
                [row["success_rate"]],
                [height],
                marker="o",
                markersize=theme.font * 0.62,
                markerfacecolor=levels.color(name) or theme.calm,
                markeredgecolor=theme.muted,
                markeredgewidth=theme.line * 0.45,
                clip_on=False,
            )
            drawing.mark(dot, rate_tip(name, row), path)
    axes.set_xlim(0, 1)
    axes.set_ylim(-len(order) + 0.45, 0.55)
    axes.grid(axis="x")
    tick_labels(axes, "x", [0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    tick_labels(axes, "y", [-place for place in range(len(order))], order)
    axes.tick_params(length=0)
    axes.tick_params(axis="y", labelcolor=theme.ink)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)


def _bar(drawing: Drawing, axes: Axes, y: float, group: str, path: str, row: Row) -> None:
    theme = drawing.theme
    if row["success_rate"] is None:
        return
    (bar,) = axes.barh([y], [row["success_rate"]], height=0.66, color=theme.band, alpha=0.35, linewidth=0)
    drawing.mark(bar, rate_tip(group, row), path)
    if row["low"] is not None:
        axes.hlines([y], [row["low"]], [row["high"]], color=theme.ink, linewidth=theme.line * 0.9)
    axes.vlines([row["success_rate"]], [y - 0.33], [y + 0.33], color=theme.ink, linewidth=theme.line * 1.5)
