"""Success of groups of levels, agents side by side: Figure 2 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rbench.reporting.figures.drawing import Drawing, short, tick_labels
from rbench.reporting.plotted import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Patterns that tell bars apart in black and white.
_HATCHES = ("", "///", "...", "xxx", "---", "+++")


def group_bars(drawing: Drawing, axes: Axes, rows: Sequence[Row], runs: Sequence[str]) -> None:
    """A cluster of bars a group, a bar a run, with intervals where they are known.

    Args:
        rows: of the table `groups`, of one dimension.
        runs: from left to right.
    """
    theme = drawing.theme
    totals: dict[str, list[int]] = {}
    for row in rows:
        total = totals.setdefault(row["group"], [0, 0])
        total[0] += row["successes"]
        total[1] += row["episodes"]
    groups = sorted(totals, key=lambda name: (-totals[name][0] / max(totals[name][1], 1), name))
    width = 0.8 / len(runs)
    for number, run in enumerate(runs):
        own = {row["group"]: row for row in rows if row["run"] == run and row["success_rate"] is not None}
        places = [groups.index(group) + (number - (len(runs) - 1) / 2) * width for group in own]
        rates = [row["success_rate"] for row in own.values()]
        axes.bar(
            places,
            rates,
            width * 0.9,
            color=theme.series[number % len(theme.series)],
            hatch=_HATCHES[number % len(_HATCHES)],
            edgecolor=theme.surface,
            linewidth=0,
            label=short(run),
        )
        bounded = [(x, row) for x, row in zip(places, own.values(), strict=True) if row["low"] is not None]
        xs, found = [x for x, _ in bounded], [row for _, row in bounded]
        axes.vlines(xs, [r["low"] for r in found], [r["high"] for r in found], color=theme.ink, linewidth=theme.line)
    axes.set_ylim(0, 1)
    axes.grid(axis="y")
    axes.tick_params(length=0)
    tick_labels(axes, "x", list(range(len(groups))), groups)
    tick_labels(axes, "y", [0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    axes.set_ylabel("success, percent")
    axes.spines["left"].set_visible(False)
    axes.legend(ncols=min(4, len(runs)), loc="lower left", bbox_to_anchor=(0, 1.0), borderpad=0)
