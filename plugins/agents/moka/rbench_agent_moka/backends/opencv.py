"""Perception without weights: the embedded classical eye, which knows an open yellow box and a small solid."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from rbench.things import kind_called
from rbench.vision.classical.regions import regions
from rbench.vision.classical.surface import find_surface
from rbench.vision.classical.tabletop import Sighting, look
from rbench_agent_moka.perception import Box, Detection, Detector, Segmenter, overlap
from rbench_agent_moka.sight import Image, Mask, Sight

#: By how many units of its noise a thing must differ from the surface, as in the vision model `opencv`.
_CONTRAST = 7.0
#: A box that overlaps that of a thing it saw by more than this is that thing's.
_SAME = 0.7


def _sightings(image: Image) -> tuple[Sighting | None, Sighting | None]:
    """The solid and the box."""
    cv2.setNumThreads(1)  # workers share the machine's cores among themselves
    seen = look(image, _CONTRAST)
    return seen.solid, seen.box


class OpenCvDetector(Detector):
    """A name for a receptacle gets the yellow box, any other name the small solid: it cannot read more out of it."""

    def detect(self, sight: Sight, names: Sequence[str], threshold: float) -> list[list[Detection]]:
        solid, box = _sightings(sight.rgb)
        found = []
        for name in names:
            seen = box if kind_called(name) == "receptacle" else solid
            usable = seen is not None and seen.score >= threshold
            # It reads no words out of the picture, so it gives back those it was asked for, as detectors write them.
            found.append([Detection(_corners(seen), seen.score, name.lower())] if seen is not None and usable else [])
        return found


class OpenCvSegmenter(Segmenter):
    """The region it saw there; else the largest part of the box that stands out from the surface."""

    def segment(self, sight: Sight, boxes: Sequence[Box]) -> list[Mask]:
        seen = [s for s in _sightings(sight.rgb) if s is not None]
        masks = []
        for box in boxes:
            own = [s.region.mask for s in seen if overlap(_corners(s), box) > _SAME]
            masks.append(own[0] if own else _largest_part(sight.rgb, box))
        return masks


def _corners(seen: Sighting) -> Box:
    x1, y1, x2, y2 = (float(v) for v in seen.region.box)
    return (x1, y1, x2, y2)


def _largest_part(image: Image, box: Box) -> Mask:
    surface = find_surface(image)
    out = (surface.contrast > _CONTRAST) & ~surface.shadow
    x1, y1, x2, y2 = (max(0, round(v)) for v in box)
    inside = np.zeros_like(out)
    inside[y1:y2, x1:x2] = out[y1:y2, x1:x2]
    found = regions(inside, 1)
    return found[0].mask if found else inside
