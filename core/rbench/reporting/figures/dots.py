"""Success of levels that have nothing in common but their factor: a dot with its interval each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rbench.reporting.figures.drawing import Drawing, tick_labels
from rbench.reporting.figures.tips import rate_tip
from rbench.reporting.plotted import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def dot_panel(drawing: Drawing, axes: Axes, names: Sequence[str], rows: Mapping[str, tuple[str, Row]]) -> None:
    """Draw it.

    Args:
        names: levels from top to bottom.
        rows: level -> where its row is in the document, and the row.
    """
    theme = drawing.theme
    for place, name in enumerate(names):
        path, row = rows[name]
        if row["success_rate"] is None:
            continue
        axes.hlines([-place], [row["low"]], [row["high"]], color=theme.series[0], linewidth=theme.line * 1.2)
        (dot,) = axes.plot(
            [row["success_rate"]],
            [-place],
            marker="o",
            markersize=theme.font * 0.5,
            color=theme.series[0],
            clip_on=False,
        )
        drawing.mark(dot, rate_tip(name, row), path)
    axes.set_xlim(0, 1)
    axes.set_ylim(-len(names) + 0.4, 0.6)
    axes.grid(axis="x")
    axes.tick_params(length=0)
    tick_labels(axes, "x", [0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    tick_labels(axes, "y", [-place for place in range(len(names))], list(names))
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
