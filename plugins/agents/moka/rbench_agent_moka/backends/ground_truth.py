"""Perfect perception, for telling what is lost by seeing from what is lost by planning and moving. Privileged.

What can be seen of a thing are the pixels whose points lie in its hull, so no mask is asked of the renderer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rbench.things import Thing, thing_called, things_of
from rbench_agent_moka.perception import Box, Detection, Detector, Segmenter, overlap
from rbench_agent_moka.sight import Mask, Sight

#: Points this far (m) outside the hull of a thing are still on it, and so far above its underside surely not on what
#: it stands on.
_NEAR, _ABOVE = 0.001, 0.001


def visible_masks(sight: Sight) -> dict[str, Mask]:
    """For every thing of the scene the pixels (height, width) in which it is seen."""
    assert sight.truth is not None
    masks: dict[str, Mask] = {}
    taken = np.zeros(sight.size, dtype=np.bool_)
    for thing in things_of(sight.truth.scene):  # objects first: one in a box lies in the hull of the box too
        masks[thing.name] = _mask(sight, thing) & ~taken
        taken |= masks[thing.name]
    return masks


def _mask(sight: Sight, thing: Thing) -> Mask:
    local = sight.in_body_frame(thing.name)
    with np.errstate(invalid="ignore"):
        return np.asarray((thing.outside(local) < _NEAR) & (local[..., 2] > thing.low[2] + _ABOVE))


class TrueDetector(Detector):
    """The box around what can be seen of the thing that a name means."""

    privileged: ClassVar[bool] = True

    def detect(self, sight: Sight, names: Sequence[str], threshold: float) -> list[list[Detection]]:
        assert sight.truth is not None
        masks = visible_masks(sight)
        found = []
        for name in names:
            thing = thing_called(sight.truth.scene, name)
            seen = thing is not None and masks[thing.name].any()
            found.append([Detection(_around(masks[thing.name]), 1.0, name.lower())] if thing and seen else [])
        return found


class TrueSegmenter(Segmenter):
    """The mask of the thing whose box is most like the one given."""

    privileged: ClassVar[bool] = True

    def segment(self, sight: Sight, boxes: Sequence[Box]) -> list[Mask]:
        masks = [mask for mask in visible_masks(sight).values() if mask.any()]
        empty = np.zeros(sight.size, dtype=np.bool_)
        return [max(masks, key=lambda mask: overlap(_around(mask), box), default=empty) for box in boxes]


def _around(mask: Mask) -> Box:
    rows, columns = np.nonzero(mask)
    return (float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
