"""One subtask from a look at the scene to a motion in space; every stage is written down as it is passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rbench.geometry import Array
from rbench.vision.asking import Interview
from rbench.vision.manipulation import PlannedStep
from rbench_agent_moka.detection import find
from rbench_agent_moka.grasping import grasp_at
from rbench_agent_moka.keypoints import Outline, outline
from rbench_agent_moka.lifting import Body, body_of, lift
from rbench_agent_moka.marks import marked
from rbench_agent_moka.motion_question import Chosen, choose_motion
from rbench_agent_moka.near_colors import probed
from rbench_agent_moka.options import Options
from rbench_agent_moka.perception import Detector, Segmenter
from rbench_agent_moka.phases import Motion
from rbench_agent_moka.published_marks import marked_as_published
from rbench_agent_moka.sight import Image, Mask, Sight
from rbench_agent_moka.stages import OBJECT, PLACE, Stages
from rbench_agent_moka.tiles import Tiles


@dataclass
class SubtaskMaker:
    """Turns a subtask into a motion, with what it takes.

    Attributes:
        seen: what was perceived and chosen, a plain entry a subtask, for the record.
    """

    detector: Detector
    segmenter: Segmenter
    interview: Interview
    rng: np.random.Generator
    options: Options
    stages: Stages
    seen: list[dict[str, Any]] = field(default_factory=list)

    def motion(self, sight: Sight, step: PlannedStep, names: Sequence[str]) -> Motion:
        """The motion of one subtask.

        Args:
            names: all names of the plan; published, every one of them must be found.

        Raises:
            GaveUp: with the stage's reason.
        """
        self.seen.append({"instruction": step.instruction})
        wanted = [name for name in (step.object_grasped, step.object_unattached) if name]
        outlines = self._outlines(sight, names if self.options.mode == "paper" else wanted, step)
        grasped, unattached = outlines.get(step.object_grasped), outlines.get(step.object_unattached)
        tiles = Tiles(*self.options.tiles, *sight.size)
        with self.stages.stage("motion"):
            picture = self._marked(sight.rgb, grasped, unattached, tiles)
            attempts = self.options.attempts
            chosen = choose_motion(self.interview, step, picture, grasped, unattached, tiles, attempts)
            self.seen[-1]["motion"] = chosen.answer.model_dump()
        return self._lifted(sight, chosen, grasped, unattached, tiles)

    def _outlines(self, sight: Sight, names: Sequence[str], step: PlannedStep) -> dict[str, Outline]:
        """Where the named objects are in the picture."""
        with self.stages.stage("detect"):
            if self.options.near_colors:
                probes = probed(self.detector, sight, names, self.options.near_colors)
                self.seen[-1]["near_colors"] = [probe | {"role": _role(probe["name"], step)} for probe in probes]
            found = find(self.detector, sight, names, self.options)
            self.seen[-1]["notes"] = list(found.notes)
            self.seen[-1]["boxes"] = {
                name: [[*(round(v, 2) for v in d.box), round(d.score, 4), d.label] for d in boxes]
                for name, boxes in found.boxes.items()
            }
            for name, boxes in found.boxes.items():
                x1, y1, x2, y2 = (max(0, int(v)) for v in boxes[0].box)
                point = _median(sight.points[y1:y2, x1:x2])
                self.stages.claim(_role(name, step), named=name, point=point, score=round(boxes[0].score, 4))
        with self.stages.stage("segment"):
            owned = [(name, d.box) for name, detections in found.boxes.items() for d in detections]
            masks = self.segmenter.segment(sight, [box for _, box in owned])
            outlines = {}
            for name in found.boxes:
                own = [(mask, box) for mask, (owner, box) in zip(masks, owned, strict=True) if owner == name]
                # As published: the masks of several boxes of one name are one mask.
                mask = np.logical_or.reduce([mask for mask, _ in own])
                outlines[name] = outline(name, mask, own[0][1], self.options.keypoints)
                point = _median(sight.points[outlines[name].mask])
                self.stages.claim(_role(name, step), named=name, point=point, pixels=int(mask.sum()))
            self.seen[-1]["keypoints"] = {name: thing.keypoints.round(2).tolist() for name, thing in outlines.items()}
            self.seen[-1]["notes"] += [f"no_mask:{name}" for name, thing in outlines.items() if thing.empty]
        return outlines

    def _marked(self, image: Image, grasped: Outline | None, unattached: Outline | None, tiles: Tiles) -> Image:
        pairs = (("P", grasped), ("Q", unattached))
        keypoints = [(letter, thing.keypoints) for letter, thing in pairs if thing is not None]
        draw = marked if self.options.render == "pillow" else marked_as_published
        return draw(image, keypoints, tiles)

    def _lifted(
        self, sight: Sight, chosen: Chosen, grasped: Outline | None, unattached: Outline | None, tiles: Tiles
    ) -> Motion:
        with self.stages.stage("lift"):
            held = _body(sight, grasped, unattached)
            place = _body(sight, unattached, grasped)
            function = None if chosen.function is None or grasped is None else _lift(sight, grasped, chosen.function)
            target = None if chosen.target is None or unattached is None else _lift(sight, unattached, chosen.target)
            if target is not None and place is not None and chosen.target == 0 and self.options.mode == "fixed":
                # Mark 1 is the middle of the thing, and not the point on its near side that is seen in front of it.
                target = np.array([*place.middle, place.top])
            if target is not None:
                self.stages.claim(PLACE, point=target, mark=chosen.answer.target_keypoint)
            pre, post = (
                lift(sight, np.array(tiles.sample(tile, self.rng))) if tile else None
                for tile in (chosen.answer.pre_contact_tile, chosen.answer.post_contact_tile)
            )
        with self.stages.stage("grasp"):
            grasp = None
            if grasped is not None and held is not None and chosen.grasp is not None:
                grasp = grasp_at(sight, grasped, held, chosen.grasp, self.options, self.rng)
                mark = chosen.answer.grasp_keypoint
                self.stages.claim(OBJECT, point=grasp.surface, mark=mark, how=grasp.how, angle=round(grasp.angle, 6))
        tables = [body.table for body in (held, place) if body is not None]
        return Motion(
            table=min(tables),
            grasp=grasp,
            object_height=held.height if held is not None else 0.0,
            function=function,
            target=target,
            rim=place.top if place is not None else None,
            pre=pre,
            pre_height="same" if chosen.answer.pre_contact_height == "same" else "above",
            post=post,
            post_height="same" if chosen.answer.post_contact_height == "same" else "above",
        )


def _role(name: str, step: PlannedStep) -> str | None:
    """What the subtask does with a thing of the plan; None: nothing."""
    return {step.object_unattached: PLACE, step.object_grasped: OBJECT}.get(name)


def _median(points: Array) -> Array | None:
    """The middle one (3,) of points (..., 3), coordinate by coordinate; None when none has depth."""
    known = points.reshape(-1, 3)
    known = known[np.isfinite(known).all(axis=1)]
    return np.asarray(np.median(known, axis=0)) if len(known) else None


def _lift(sight: Sight, thing: Outline, index: int) -> Array:
    return lift(sight, thing.keypoints[index])


def _body(sight: Sight, thing: Outline | None, other: Outline | None) -> Body | None:
    if thing is None:
        return None
    others: Mask = np.zeros(sight.size, dtype=np.bool_) if other is None else other.mask
    return body_of(sight, thing.mask, others)
