"""The bias coefficient before and after a wrapper, dimension by dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rbench.reporting.figures.drawing import Drawing, tick_labels
from rbench.reporting.numbers import percentage
from rbench.reporting.plotted import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def before_after_panel(
    drawing: Drawing, axes: Axes, rows: Sequence[tuple[str, Row]], right: float, labels: tuple[str, str]
) -> None:
    """An arrow from the CV before to the CV after; a short line below each where chance alone would put it.

    Args:
        rows: where the row is in the document, and the row, from top to bottom.
        right: end of the axis.
        labels: what the two ends are called.
    """
    theme = drawing.theme
    styles = (("cv_before", "cv_floor_before", "o", theme.calm), ("cv_after", "cv_floor_after", "D", theme.series[0]))
    for place, (path, row) in enumerate(rows):
        y = -place
        if row["cv_before"] is not None and row["cv_after"] is not None:
            axes.annotate(
                "",
                (row["cv_after"], y),
                (row["cv_before"], y),
                arrowprops={"arrowstyle": "-|>", "color": theme.muted, "lw": theme.line, "shrinkA": 4, "shrinkB": 5},
            )
        for (key, floor, marker, color), label in zip(styles, labels, strict=True):
            if row[floor] is not None:
                (tick,) = axes.plot([row[floor]] * 2, [y - 0.34, y - 0.16], color=color, linewidth=theme.line * 1.4)
                drawing.mark(
                    tick, f"{row['dimension']}, {label}: noise floor {percentage(row[floor])}", f"{path}/{floor}"
                )
            if row[key] is not None:
                (dot,) = axes.plot([row[key]], [y], marker=marker, color=color, markersize=theme.font * 0.6)
                drawing.mark(dot, f"{row['dimension']}, {label}: CV {percentage(row[key])}", f"{path}/{key}")
    axes.set_xlim(0, right)
    axes.set_ylim(-len(rows) + 0.4, 0.5)
    axes.grid(axis="x")
    axes.tick_params(length=0)
    tick_labels(axes, "y", [-place for place in range(len(rows))], [row["dimension"] for _, row in rows])
    axes.tick_params(axis="y", labelcolor=theme.ink)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.set_xlabel("bias coefficient CV, percent")


def wrapper_limit(rows: Sequence[Row]) -> float:
    """A right end of the axis that shows every coefficient and floor."""
    keys = [f"{quantity}_{when}" for quantity in ("cv", "cv_floor") for when in ("before", "after")]
    return 1.08 * max([row[key] for row in rows for key in keys if row[key] is not None], default=100.0)
