"""Success at camera poses on rings, seen from above: the robot in the middle, the lowest ring outside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rbench.reporting.figures.drawing import Drawing, bare
from rbench.reporting.figures.rate_colors import rate_color, text_color
from rbench.reporting.figures.tips import rate_tip
from rbench.reporting.level_kinds import Levels
from rbench.reporting.plotted import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Radius of the hole where the robot stands, and thickness of a ring.
_HOLE, _THICK = 1.05, 1.0


def orbit_panel(drawing: Drawing, axes: Axes, levels: Levels, rows: Mapping[str, tuple[str, Row]]) -> None:
    """Draw a wedge a pose, coloured by success rate and holding it in percent.

    Places of a ring cover the half circle in front of the robot, the first on the robot's right: drawn on the left,
    as for somebody who faces it.

    Args:
        rows: level -> where its row is in the document, and the row.
    """
    from matplotlib.patches import Wedge

    theme = drawing.theme
    rings = max(levels.ring(name)[0] for name in levels.names)
    places = max(levels.ring(name)[1] for name in levels.names)
    step = 180 / places
    bare(axes, theme)
    axes.set_aspect("equal")
    for name in levels.names:
        ring, place = levels.ring(name)
        path, row = rows[name]
        outer = _HOLE + _THICK * (rings - ring + 1)
        start = 180 + (place - 1) * step
        rate = row["success_rate"]
        fill = "none" if rate is None else rate_color(rate)
        wedge = Wedge((0, 0), outer - 0.03, start + 0.7, start + step - 0.7, width=_THICK - 0.06, facecolor=fill)
        wedge.set_edgecolor(theme.faint if rate is None else "none")
        axes.add_patch(wedge)
        drawing.mark(wedge, rate_tip(name, row), path)
        angle, radius = math.radians(start + step / 2), outer - _THICK / 2
        text = "–" if rate is None else f"{100 * rate:.0f}"
        color = theme.muted if rate is None else text_color(fill)
        x, y = radius * math.cos(angle), radius * math.sin(angle)
        drawing.text(axes, x, y, text, ha="center", va="center", color=color, fontsize=theme.font * 0.95)
    _names(drawing, axes, rings, places)


def _names(drawing: Drawing, axes: Axes, rings: int, places: int) -> None:
    theme = drawing.theme
    edge, step = _HOLE + _THICK * rings, math.pi / places
    small = {"color": theme.muted, "fontsize": theme.font * 0.85, "ha": "center", "va": "center"}
    for place in range(places):
        angle = math.pi + (place + 0.5) * step
        drawing.text(axes, (edge + 0.22) * math.cos(angle), (edge + 0.22) * math.sin(angle), f"a{place + 1}", **small)
    for ring in range(rings):
        x = _HOLE + _THICK * (rings - ring - 0.5)
        for side in (-x, x):
            drawing.text(axes, side, 0.17, f"r{ring + 1}", **small)
    drawing.text(axes, 0, -0.3, "robot", **small)
    axes.plot([0], [0.02], marker=7, markersize=theme.font * 0.8, color=theme.muted, clip_on=False)
    axes.set_xlim(-edge - 0.45, edge + 0.45)
    axes.set_ylim(-edge - 0.45, 0.4)
