"""Candidate keypoints of an object: its middle and the points of its outline that are farthest apart."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from rbench.geometry import Array
from rbench_agent_moka.perception import Box
from rbench_agent_moka.sight import Mask


@dataclass(frozen=True, eq=False)
class Outline:
    """What is known of an object in the picture.

    Attributes:
        name: what the plan calls it.
        mask: its pixels. vertices: (n, 2) x, y of every pixel on its outline, holes too.
        keypoints: (k, 2) candidates; the first is the middle of the vertices.
        empty: there was no mask, so the box stands for it.
    """

    name: str
    mask: Mask
    vertices: Array
    keypoints: Array
    empty: bool

    @property
    def box(self) -> Box:
        """Around the vertices."""
        (x1, y1), (x2, y2) = self.vertices.min(axis=0), self.vertices.max(axis=0)
        return (float(x1), float(y1), float(x2), float(y2))


def outline(name: str, mask: Mask, box: Box, count: int) -> Outline:
    """The outline of a mask with `count` keypoints; of the box, when the mask has none."""
    vertices = vertices_of(mask)
    empty = not len(vertices)
    if empty:
        height, width = mask.shape
        x1, x2 = (min(max(v, 0.0), width - 0.5) for v in (box[0], box[2]))
        y1, y2 = (min(max(v, 0.0), height - 0.5) for v in (box[1], box[3]))
        vertices = np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])
        mask = np.zeros_like(mask)
        mask[int(y1) : int(y2) + 1, int(x1) : int(x2) + 1] = True
    return Outline(name, mask, vertices, propose(vertices, count), empty)


def vertices_of(mask: Mask) -> Array:
    """Pixel centres (n, 2) along all contours of three pixels or more, outer ones and holes; none: (0, 2)."""
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    kept = [contour[:, 0, :] for contour in contours if len(contour) >= 3]
    return np.concatenate(kept).astype(np.float64) + 0.5 if kept else np.empty((0, 2))


def propose(vertices: Array, count: int) -> Array:
    """The middle of the vertices first, then the others from the top of the picture down, `count` at most in all."""
    middle = vertices.mean(axis=0)
    chosen = farthest_points(np.vstack([middle, vertices]), count)[1:]
    return np.vstack([middle, chosen[np.argsort(chosen[:, 1], kind="stable")]])


def farthest_points(points: Array, count: int) -> Array:
    """Farthest-point sampling from the first point on: each next one is the farthest from all chosen before."""
    if len(points) <= count:
        return points
    chosen = [0]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < count:
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(nearest)))
    return points[chosen]
