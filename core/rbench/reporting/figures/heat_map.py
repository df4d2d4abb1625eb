"""Success counts of every pair of levels of two factors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rbench.reporting.figures.drawing import Drawing, tick_labels
from rbench.reporting.figures.rate_colors import rate_color, text_color
from rbench.reporting.figures.tips import rate_tip
from rbench.reporting.level_kinds import Levels
from rbench.reporting.plotted import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def heat_panel(
    drawing: Drawing, axes: Axes, down: Levels, across: Levels, rows: Mapping[tuple[str, str], tuple[str, Row]]
) -> None:
    """A cell a pair, coloured by success rate and holding the successes.

    Args:
        down: levels of the rows. across: levels of the columns.
        rows: (level, other level) -> where its row is in the document, and the row.
    """
    from matplotlib.patches import Rectangle

    theme = drawing.theme
    small = theme.font * min(0.9, 12 / max(len(across.names), 1) + 0.2)
    for y, first in enumerate(down.names):
        for x, second in enumerate(across.names):
            path, row = rows[first, second]
            rate = row["success_rate"]
            fill = "none" if rate is None else rate_color(rate)
            cell = Rectangle((x - 0.48, -y - 0.47), 0.96, 0.94, facecolor=fill, linewidth=0)
            axes.add_patch(cell)
            drawing.mark(cell, rate_tip(f"{first}, {second}", row), path)
            text = "–" if rate is None else str(row["successes"])
            color = theme.muted if rate is None else text_color(fill)
            drawing.text(axes, x, -y - 0.03, text, ha="center", va="center", color=color, fontsize=small)
    for x, name in enumerate(across.names):
        if (color_of := across.color(name)) is not None:
            swatch = Rectangle((x - 0.48, 0.58), 0.96, 0.42, facecolor=color_of, edgecolor=theme.muted, linewidth=0.4)
            swatch.set_clip_on(False)
            axes.add_patch(swatch)
    top = 1.15 if across.kind == "colors" else 0.6
    axes.set_xlim(-0.5, len(across.names) - 0.5)
    axes.set_ylim(-len(down.names) + 0.5, top)
    axes.xaxis.tick_top()
    slanted = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if len(across.names) > 4 else {}
    tick_labels(axes, "x", list(range(len(across.names))), list(across.names), **slanted)
    tick_labels(axes, "y", [-y for y in range(len(down.names))], list(down.names))
    axes.tick_params(length=0, pad=2)
    axes.tick_params(axis="both", labelcolor=theme.ink)
    for spine in axes.spines.values():
        spine.set_visible(False)
