"""What the classical eye says about a manipulation: the one thing it can think of is to put the solid into the box."""

from __future__ import annotations

import numpy as np

from rbench.vision.classical.tabletop import Tabletop
from rbench.vision.manipulation import ManipulationPlan, MarkedMotion, PlannedStep

#: What it calls what it looks for.
SOLID, BOX = "small solid", "open yellow box"
#: Tiles along each side of the picture, as in MOKA.
_TILES = 5


def move_into_box() -> ManipulationPlan:
    """The plan, whether or not it saw the things: it is the detector's task to find them."""
    step = PlannedStep(
        instruction=f"Move the {SOLID} into the {BOX}.",
        object_grasped=SOLID,
        object_unattached=BOX,
        motion_direction="downward",
    )
    return ManipulationPlan([step])


def from_middle_to_middle(seen: Tabletop) -> MarkedMotion:
    """Grasp the solid in its middle and let go above the middle of the box: mark 1 is the middle of a thing."""
    return MarkedMotion(
        grasp_keypoint="P1",
        function_keypoint="",
        target_keypoint="Q1",
        target_tile=_tile_of_box(seen),
        pre_contact_tile="",
        post_contact_tile="",
    )


def _tile_of_box(seen: Tabletop) -> str:
    """The tile of the middle of the box, '' when none was seen."""
    if seen.box is None:
        return ""
    x1, y1, x2, y2 = seen.box.region.box
    height, width = seen.box.region.mask.shape
    column, row = np.array([x1 + x2, y1 + y2]) * _TILES // (2 * np.array([width, height]))
    return f"{'abcde'[int(column)]}{_TILES - int(row)}"
