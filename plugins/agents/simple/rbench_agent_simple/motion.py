"""The fixed pick and place between two lifted things, as waypoints of the fingertip point."""

from __future__ import annotations

from rbench.action import Waypoint, Waypoints
from rbench.geometry import Quaternion
from rbench_agent_simple.lifting import Lifted
from rbench_agent_simple.options import Options

#: Straight down, fingers in line with the base frame's y axis: there is no reasoning about grasps, by design.
DOWN: Quaternion = (0.0, 1.0, 0.0, 0.0)
#: The middle of the finger pads stays this far (m) above the table.
LOWEST = 0.012
#: Share of the speed near things.
CAREFUL = 0.5


def pick_and_place(start: Lifted, end: Lifted, options: Options) -> Waypoints:
    """Open, above the start, down, close, lift, above the end, down to the rim, open, lift."""
    fast, slow = options.speed, options.speed * CAREFUL
    table = min(start.table, end.table)
    high = table + options.travel_height
    (x, y, top), (to_x, to_y, rim) = start.point(options.lift), end.point(options.lift)
    low = max(top - options.grasp_depth, start.table + LOWEST)
    # What hangs below the fingers is as high as the fingers are above the table when they close.
    release = min(high, rim + options.clearance + low - start.table)
    return Waypoints(
        (
            Waypoint((x, y, high), DOWN, 0.0, fast),
            Waypoint((x, y, low), DOWN, 0.0, slow),
            Waypoint((x, y, low), DOWN, 1.0, slow),
            Waypoint((x, y, high), DOWN, 1.0, slow),
            Waypoint((to_x, to_y, high), DOWN, 1.0, fast),
            Waypoint((to_x, to_y, release), DOWN, 1.0, slow),
            Waypoint((to_x, to_y, release), DOWN, 0.0, slow),
            Waypoint((to_x, to_y, high), DOWN, 0.0, slow),
        )
    )
