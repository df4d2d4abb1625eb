"""The panels of one run, each drawn on axes that it is given; the page and the paper arrange them differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rbench.design import Dimension
from rbench.reporting.figures.bias_bars import BiasRow, bias_panel
from rbench.reporting.figures.curves import curve_panel, pair_panel
from rbench.reporting.figures.dots import dot_panel
from rbench.reporting.figures.drawing import Drawing
from rbench.reporting.figures.heat_map import heat_panel
from rbench.reporting.figures.orbit import orbit_panel
from rbench.reporting.figures.swatches import UNGROUPED, swatch_panel
from rbench.reporting.json_pointer import pointer
from rbench.reporting.level_kinds import Levels
from rbench.reporting.numbers import percent
from rbench.reporting.plotted import Row, Table
from rbench.reporting.run_report import RunReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Mapping[str, tuple[str, Row]]


@dataclass(frozen=True)
class Panel:
    """Something to draw.

    Attributes:
        key: names it within its run.
        title: what it shows, for people.
        kind: `rings`, `colors`, `pairs`, `numbers`, `names`, `grid`, `bias` or `words`.
        height: for a width of 360.
        alt: what there is to see, in words.
        draw: draws it.
    """

    key: str
    title: str
    kind: str
    height: float
    alt: str
    draw: Callable[[Drawing, Axes], None]


def dimension_panel(
    report: RunReport,
    dimension: Dimension,
    tables: Mapping[str, Table],
    context: str | None = None,
    order: Sequence[str] = (),
) -> Panel:
    """Success over the levels of a factor, drawn as its levels are best read.

    Args:
        context: only this context instead of all.
        order: of groups of colours, from top to bottom, where several runs shall have the same; else by success.
    """
    (factor,) = dimension.factors
    levels = report.levels(factor, dimension)
    rows = _level_rows(report, dimension, tables, context)
    shown = dot_names(levels, rows) if levels.kind == "names" else list(levels.names)
    groups = _group_rows(report, dimension, tables)
    families = list(order) or group_order(levels, rows, groups)

    def draw(drawing: Drawing, axes: Axes) -> None:
        if levels.kind == "rings":
            orbit_panel(drawing, axes, levels, rows)
        elif levels.kind == "colors":
            swatch_panel(drawing, axes, levels, rows, groups, families)
        elif levels.kind == "pairs":
            pair_panel(drawing, axes, levels, rows)
        elif levels.kind == "numbers":
            curve_panel(drawing, axes, levels, rows, factor)
        else:
            dot_panel(drawing, axes, shown, rows)

    heights = {"rings": 208.0, "colors": 40 + 27.0 * len(families), "pairs": 230.0, "numbers": 230.0}
    return Panel(
        key=dimension.name,
        title=dimension.name,
        kind=levels.kind,
        height=heights.get(levels.kind, 40 + 21.0 * len(shown)),
        alt=f"Success by {factor} of {report.label}: {_extremes(rows)}",
        draw=draw,
    )


def grid_panel(report: RunReport, dimension: Dimension, tables: Mapping[str, Table]) -> Panel:
    """Success counts of a grid of two factors; the factor with more levels runs down."""
    first, second = (report.levels(factor, dimension) for factor in dimension.factors)
    rows = {
        (row["level"], row["other_level"]): (pointer("tables", "grid", "rows", number), row)
        for number, row in tables["grid"].where(run=report.label, dimension=dimension.name)
    }
    if len(second.names) > len(first.names):
        first, second = second, first
        rows = {(b, a): found for (a, b), found in rows.items()}

    def draw(drawing: Drawing, axes: Axes) -> None:
        heat_panel(drawing, axes, first, second, rows)

    named = {", ".join(pair): found for pair, found in rows.items()}
    return Panel(
        key=dimension.name,
        title=dimension.name.replace("+", " × "),
        kind="grid",
        height=64 + 17.5 * len(first.names),
        alt=f"Success by {' and '.join(dimension.factors)} of {report.label}: {_extremes(named)}",
        draw=draw,
    )


def bias_rows(report: RunReport, number: int) -> list[BiasRow]:
    """The dimensions of a run for its bias panel.

    Args:
        number: of the run in the report.
    """
    return [
        (d.name, pointer("runs", number, "dimensions", d.name), report.summary["dimensions"][d.name])
        for d in report.dimensions
    ]


def bias_overview(report: RunReport, rows: list[BiasRow], right: float) -> Panel:
    """Bias of all dimensions of a run, with floors."""

    def draw(drawing: Drawing, axes: Axes) -> None:
        bias_panel(drawing, axes, rows, right)

    words = [f"{name} {'not defined' if row['cv'] is None else round(row['cv'], 1)}" for name, _, row in rows]
    return Panel(
        key="bias",
        title="bias",
        kind="bias",
        height=54 + 44.0 * len(rows),
        alt=f"Bias coefficients of {report.label}: {', '.join(words)}",
        draw=draw,
    )


def _level_rows(
    report: RunReport, dimension: Dimension, tables: Mapping[str, Table], context: str | None
) -> dict[str, tuple[str, Row]]:
    if context is None:
        found = tables["levels"].where(run=report.label, dimension=dimension.name)
        return {row["level"]: (pointer("tables", "levels", "rows", number), row) for number, row in found}
    (factor,) = dimension.factors
    empty = {"successes": 0, "episodes": 0, "success_rate": None, "low": None, "high": None, "group": None}
    rows: dict[str, tuple[str, Row]] = dict.fromkeys(dimension.levels[factor], ("", empty))
    for number, row in tables["contexts"].where(run=report.label, dimension=dimension.name, context=context):
        group = report.manifest.design.groups.get(factor, {}).get(row["level"])
        rows[row["level"]] = (pointer("tables", "contexts", "rows", number), {**row, "group": group})
    return rows


def _group_rows(report: RunReport, dimension: Dimension, tables: Mapping[str, Table]) -> dict[str, tuple[str, Row]]:
    found = tables["groups"].where(run=report.label, dimension=dimension.name)
    return {row["group"]: (pointer("tables", "groups", "rows", number), row) for number, row in found}


def group_order_of(reports: Sequence[RunReport], dimension: Dimension, tables: Mapping[str, Table]) -> list[str]:
    """Groups of a dimension by falling success rate over all runs, so that runs side by side have the same order."""
    if len(reports) < 2:
        return []
    totals: dict[str, list[int]] = {}
    for _, row in tables["groups"].where(dimension=dimension.name):
        total = totals.setdefault(row["group"], [0, 0])
        total[0] += row["successes"]
        total[1] += row["episodes"]
    loose = any(row["group"] is None for _, row in tables["levels"].where(dimension=dimension.name))
    return [
        *sorted(totals, key=lambda group: (-totals[group][0] / max(totals[group][1], 1), group)),
        *([UNGROUPED] if loose else []),
    ]


def group_order(levels: Levels, rows: Rows, groups: Rows) -> list[str]:
    """Groups by falling success rate; levels without one last."""
    rated = sorted(groups, key=lambda name: (-(groups[name][1]["success_rate"] or 0.0), name))
    loose = any(not rows[name][1]["group"] for name in levels.names)
    return [*rated, *([UNGROUPED] if loose else [])]


def dot_names(levels: Levels, rows: Rows) -> list[str]:
    """Levels with an episode, by falling success rate."""
    seen = [name for name in levels.names if rows[name][1]["episodes"]]
    return sorted(seen, key=lambda name: (-rows[name][1]["success_rate"], name))


def _extremes(rows: Rows) -> str:
    """`r1a1 20.00 % (lowest) to r3a4 96.36 % (highest)`."""
    seen = [(row["success_rate"], name) for name, (_, row) in rows.items() if row["episodes"]]
    if not seen:
        return "no episodes"
    (low, worst), (high, best) = min(seen), max(seen)
    return f"from {percent(low)} % ({worst}) to {percent(high)} % ({best})"
