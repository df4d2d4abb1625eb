"""From what was measured in a picture to a verdict: which rules are broken, and what is only noted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rbench.suites.fairness import FairnessRules

#: Notes: reported, no reason to fail.
LOW_CONTRAST, LIKE_THE_BOX = "low contrast", "like the box"
NOT_SOLVABLE = "not solvable"

#: Rule -> what may be changed when it is broken, the most telling rule first.
REMEDIES: Mapping[str, str] = {
    "nothing to see": "light the scene: the picture is of one lightness",
    "camera blocked": "move the camera out of what stands before it, or the robot's home out of the camera's way",
    "object cut off": "move the object or turn the camera so that all of it is in the picture",
    "box cut off": "move the box or turn the camera so that all of it is in the picture",
    "object hidden": "move the object, or what stands before it, out of the line of sight",
    "box hidden": "move the box, or what stands before it, out of the line of sight",
    "object small": "bring the camera nearer, narrow its field of view, or enlarge the object",
    "object like its surroundings": "leave the level out, or change the colour of table or object",
    "object flat": "move the camera so that two faces show, add light from a side, or leave the level out",
    NOT_SOLVABLE: "move the object to where the robot reaches it, or give more time",
}

#: How much of the picture must be near for a camera to be blocked.
BLOCKED = 0.5


def verdict(measures: Mapping[str, Any], rules: FairnessRules) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rules that a picture breaks, the most telling first, and what is noted of it.

    Args:
        measures: of one picture (`rbench.validation.looking`).
    """
    broken = set(_broken(measures, rules))
    notes = [] if broken & {"nothing to see", "camera blocked"} else list(_notes(measures, rules))
    return tuple(rule for rule in REMEDIES if rule in broken), tuple(notes)


def _broken(measures: Mapping[str, Any], rules: FairnessRules) -> Iterator[str]:
    picture = measures["picture"]
    if picture["near"] > BLOCKED:
        yield "camera blocked"
        return
    if picture["lightness"] < rules.lightness:
        # Whatever colours would say of such a picture follows from it.
        yield "nothing to see"
        return
    for box in measures["boxes"].values():
        if box["cut_off"] and not rules.cut_off:
            yield "box cut off"
        elif box["visible"] < rules.box_visible:
            yield "box hidden"
    for body in measures["objects"].values():
        if body["cut_off"] and not rules.cut_off:
            yield "object cut off"
        if body["visible"] < rules.object_visible:
            if not body["cut_off"] or body["pixels"]:
                yield "object hidden"
        elif body["width"] < rules.width:
            yield "object small"
        if not body["pixels"]:
            continue
        if body["contrast"] < rules.contrast:
            yield "object like its surroundings"
        # Of few pixels, or of what is half hidden, no faces can be told.
        whole = body["visible"] >= rules.object_visible and body["width"] >= rules.width
        if whole and (body["turned"] < rules.second_face or body["shading"] < rules.shading):
            yield "object flat"


def _notes(measures: Mapping[str, Any], rules: FairnessRules) -> Iterator[str]:
    seen = [body for body in measures["objects"].values() if body["pixels"]]
    if any(body["contrast"] < rules.low_contrast for body in seen):
        yield LOW_CONTRAST
    if any(body["box_contrast"] is not None and body["box_contrast"] < rules.low_contrast for body in seen):
        yield LIKE_THE_BOX
