"""Whose a box is.

Labels that a model reads from its own words come back empty, cut or merged; so the box belongs to the name that it
was asked for, no box belongs to two names, and labels that say something else are only noted. `phrase` keeps how the
published program did it: the first name that contains the label gets the box, and may get several.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rbench_agent_moka.failures import GaveUp
from rbench_agent_moka.options import Options
from rbench_agent_moka.perception import Detection, Detector, overlap
from rbench_agent_moka.sight import Sight

#: Two boxes that overlap by more than this are of one thing.
_SAME = 0.8
#: Longest name in a reason to stop.
_LONGEST = 40


@dataclass(frozen=True)
class Found:
    """What was found for the names.

    Attributes:
        boxes: for every name its boxes; one, except by `phrase`.
        notes: what is odd: `label:<name>` for a label that does not say the name, `retried:<name>` for a box that
            only the lower threshold let through.
    """

    boxes: Mapping[str, tuple[Detection, ...]]
    notes: tuple[str, ...]


def find(detector: Detector, sight: Sight, names: Sequence[str], options: Options) -> Found:
    """Boxes for every name.

    Raises:
        GaveUp: `no_detection:<name>`.
    """
    candidates = detector.detect(sight, names, options.box_threshold)
    notes = []
    if missed := [i for i, found in enumerate(candidates) if not found]:
        again = detector.detect(sight, [names[i] for i in missed], options.retry_threshold)
        for i, found in zip(missed, again, strict=True):
            candidates[i] = found
            notes += [f"retried:{names[i]}"] if found else []
    assign = by_index if options.matching == "index" else by_phrase
    boxes = assign(names, candidates)
    for name in names:
        if not boxes.get(name):
            raise GaveUp(f"no_detection:{name[:_LONGEST]}")
    notes += [f"label:{name}" for name in names if any(not _says(d.label, name) for d in boxes[name])]
    return Found(boxes, tuple(notes))


def by_index(names: Sequence[str], candidates: Sequence[Sequence[Detection]]) -> dict[str, tuple[Detection, ...]]:
    """Every name its best box that no surer name has taken."""
    offers = sorted(
        ((d, i) for i, found in enumerate(candidates) for d in found), key=lambda offer: -offer[0].score
    )  # stable: of equal scores the first name is served first
    taken: dict[int, Detection] = {}
    for offer, i in offers:
        if i not in taken and all(overlap(offer.box, other.box) < _SAME for other in taken.values()):
            taken[i] = offer
    return {name: (taken[i],) for i, name in enumerate(names) if i in taken}


def by_phrase(names: Sequence[str], candidates: Sequence[Sequence[Detection]]) -> dict[str, tuple[Detection, ...]]:
    """The best box of every prompt, to the first name that contains its label; case counts, as published."""
    boxes: dict[str, tuple[Detection, ...]] = {}
    for found in candidates:
        owner = next((name for name in names if found and found[0].label in name), None)
        if owner is not None:
            boxes[owner] = (*boxes.get(owner, ()), found[0])
    return boxes


def _says(label: str, name: str) -> bool:
    return bool(label) and set(_words(label)) <= set(_words(name))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
