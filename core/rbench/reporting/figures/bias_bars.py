"""Bias of every dimension beside its noise floor: what chance alone gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rbench.reporting.figures.drawing import Drawing, tick_labels
from rbench.reporting.numbers import percentage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Dimension, where its row is in the document, and the row.
BiasRow = tuple[str, str, Mapping[str, Any]]


def bias_panel(drawing: Drawing, axes: Axes, rows: Sequence[BiasRow], right: float) -> None:
    """A bar of the CV, a band of the floor with a line at its mean, a dot with the interval of the debiased CV.

    Args:
        rows: from top to bottom.
        right: end of the axis, the same for all runs that are compared.
    """
    theme = drawing.theme
    for place, (name, path, row) in enumerate(rows):
        y = -place
        _floor(drawing, axes, y, name, path, row)
        _coefficient(drawing, axes, y, name, path, row)
        _debiased(drawing, axes, y, name, path, row, right)
    axes.set_xlim(0, right)
    axes.set_ylim(-len(rows) + 0.45, 0.55)
    axes.grid(axis="x")
    axes.tick_params(length=0)
    tick_labels(axes, "y", [-place for place in range(len(rows))], [name for name, _, _ in rows])
    axes.tick_params(axis="y", labelcolor=theme.ink)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.set_xlabel("bias coefficient CV, percent")


def bias_limit(rows: Sequence[BiasRow]) -> float:
    """A right end of the axis that shows every bar, floor and interval up to reason."""
    highest = [row[key] for _, _, row in rows for key in ("cv", "cv_floor", "cv_debiased") if row.get(key) is not None]
    highest += [row["cv_floor_interval"][1] for _, _, row in rows if row.get("cv_floor_interval")]
    return 10.0 * (int(max(highest, default=90.0) / 10.0) + 1.5)


def _coefficient(drawing: Drawing, axes: Axes, y: float, name: str, path: str, row: Mapping[str, Any]) -> None:
    theme = drawing.theme
    if row["cv"] is None:
        drawing.text(axes, 0, y + 0.14, " not defined", va="center", color=theme.muted, fontsize=theme.font * 0.9)
        return
    color = theme.accent if row["verdict"] == "bias" else theme.calm
    (bar,) = axes.barh([y + 0.14], [row["cv"]], height=0.24, color=color, linewidth=0)
    drawing.mark(bar, f"{name}: CV {percentage(row['cv'])}", f"{path}/cv")


def _floor(drawing: Drawing, axes: Axes, y: float, name: str, path: str, row: Mapping[str, Any]) -> None:
    theme = drawing.theme
    if row.get("cv_floor_interval"):
        low, high = row["cv_floor_interval"]
        (band,) = axes.barh([y + 0.14], [high - low], left=[low], height=0.56, color=theme.band, linewidth=0)
        drawing.mark(
            band,
            f"{name}: chance alone gives CV {percentage(row['cv_floor'])} ({percentage(low)} to {percentage(high)})",
            f"{path}/cv_floor_interval",
        )
    if row.get("cv_floor") is not None:
        edges = [y + 0.14 - 0.28, y + 0.14 + 0.28]
        (line,) = axes.plot([row["cv_floor"]] * 2, edges, color=theme.ink, linewidth=theme.line * 1.3, zorder=3)
        drawing.mark(line, f"{name}: noise floor {percentage(row['cv_floor'])}", f"{path}/cv_floor")


def _debiased(
    drawing: Drawing, axes: Axes, y: float, name: str, path: str, row: Mapping[str, Any], right: float
) -> None:
    theme = drawing.theme
    if row.get("cv_debiased") is None:
        return
    tip = f"{name}: debiased CV {percentage(row['cv_debiased'])}"
    if row.get("cv_debiased_interval"):
        low, high = row["cv_debiased_interval"]
        axes.plot([low, min(high, right)], [y - 0.28] * 2, color=theme.ink, linewidth=theme.line, solid_capstyle="butt")
        tip += f", 95 % interval {percentage(low)} to {percentage(high)}"
    (dot,) = axes.plot([row["cv_debiased"]], [y - 0.28], marker="o", color=theme.ink, markersize=theme.font * 0.42)
    drawing.mark(dot, tip, f"{path}/cv_debiased")
