"""Success along a number (a distance), or along two (yaw and pitch)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rbench.reporting.figures.drawing import Drawing, short, tick_labels
from rbench.reporting.figures.tips import rate_tip
from rbench.reporting.level_kinds import Levels
from rbench.reporting.plotted import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Shapes that tell curves apart in black and white.
MARKERS = ("o", "s", "^", "D", "v", "P")


def curve_panel(drawing: Drawing, axes: Axes, levels: Levels, rows: Mapping[str, tuple[str, Row]], name: str) -> None:
    """One curve over the values of the levels, with the 95 % intervals as a band.

    Args:
        rows: level -> where its row is in the document, and the row.
        name: of the factor, for the axis.
    """
    theme = drawing.theme
    points = sorted((levels.values[level], level) for level in levels.names if rows[level][1]["episodes"])
    color = theme.series[0]
    xs = [x for x, _ in points]
    found = [rows[level][1] for _, level in points]
    lows, highs, rates = ([row[key] for row in found] for key in ("low", "high", "success_rate"))
    axes.fill_between(xs, lows, highs, color=color, alpha=0.16, linewidth=0)
    axes.plot(xs, rates, color=color, linewidth=theme.line * 1.4)
    for (x, level), rate in zip(points, rates, strict=True):
        _point(drawing, axes, x, rate, color, "o", level, rows[level])
    _frame(drawing, axes)
    numbers = sorted(levels.values.values())
    every = max(1, -(-len(numbers) // 9))
    tick_labels(axes, "x", numbers[::every], [f"{value:g}" for value in numbers[::every]])
    axes.set_xlabel(short(name))


def pair_panel(drawing: Drawing, axes: Axes, levels: Levels, rows: Mapping[str, tuple[str, Row]]) -> None:
    """A curve over the first number for every value of the second, side by side so that intervals stay apart."""
    theme = drawing.theme
    first, second = levels.axes()
    seen = {level: levels.values[level] for level in levels.names if rows[level][1]["episodes"]}
    firsts = sorted({pair[0] for pair in levels.values.values()})
    seconds = sorted({pair[1] for pair in levels.values.values()})
    place = {value: number for number, value in enumerate(firsts)}
    gap = min(0.12, 0.5 / max(1, len(seconds)))
    for number, value in enumerate(seconds):
        color, marker = theme.series[number % len(theme.series)], MARKERS[number % len(MARKERS)]
        curve = sorted((pair[0], level) for level, pair in seen.items() if pair[1] == value)
        shift = (number - (len(seconds) - 1) / 2) * gap
        xs = [place[x] + shift for x, _ in curve]
        found = [rows[level][1] for _, level in curve]
        axes.vlines(xs, [r["low"] for r in found], [r["high"] for r in found], color=color, linewidth=theme.line)
        label = f"{second} {value:g}"
        axes.plot(
            xs,
            [r["success_rate"] for r in found],
            color=color,
            linewidth=theme.line * 1.2,
            marker=marker,
            markersize=theme.font * 0.45,
            label=label,
        )
        for x, (_, level) in zip(xs, curve, strict=True):
            _point(drawing, axes, x, rows[level][1]["success_rate"], color, marker, level, rows[level])
    _frame(drawing, axes)
    tick_labels(axes, "x", list(range(len(firsts))), [f"{value:g}" for value in firsts])
    axes.set_xlabel(short(first))
    axes.set_xlim(-0.4, len(firsts) - 0.6)
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handlelength=1.6, columnspacing=1.2, borderpad=0
    )


def _point(
    drawing: Drawing, axes: Axes, x: float, y: float, color: str, marker: str, level: str, row: tuple[str, Row]
) -> None:
    path, numbers = row
    (point,) = axes.plot([x], [y], marker=marker, color=color, markersize=drawing.theme.font * 0.5, clip_on=False)
    drawing.mark(point, rate_tip(level, numbers), path)


def _frame(drawing: Drawing, axes: Axes) -> None:
    axes.set_ylim(0, 1)
    axes.grid(axis="y")
    tick_labels(axes, "y", [0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
