"""A small honest agent: finds the red object and the yellow box in pixels, lifts them with depth, picks, places.

It is the base of the agents with one thing wrong each (`bad_agents`), so it leaves a method for each such thing.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench import Agent, AgentManifest, CameraRequest, Stop, Waypoint, Waypoints
from rbench.geometry import matrix_quaternion


class HonestOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    speed: float = Field(default=0.3, gt=0.0, le=1.0, description="Speed of the fingertips, m/s.")


class Honest(Agent):
    """Looks once, picks, places, looks where the object is now, and says so."""

    Options = HonestOptions
    open, closed = 0.0, 1.0

    def __init__(self, options, context):
        self.speed = options.speed

    @property
    def manifest(self):
        return AgentManifest(
            actions=("waypoints",), cameras={"front": CameraRequest(120, 160, ("rgb", "depth"))}, primary="front"
        )

    def reset(self, start):
        self.start = start
        self.placed = False

    def act(self, observation):
        if self.placed:
            return Stop("done")
        rgb, depth = self.look(observation)
        red = self.points(observation, rgb, depth, (1, 0, 0))
        yellow = self.points(observation, rgb, depth, (1, 0.84, 0))
        if red is None or yellow is None:
            return Stop("not_detected")
        self.placed = True
        (x, y), turn, top = self.top_face(red)
        (bx, by), _, rim = self.top_face(yellow, rim=True)
        grasp, hand = top - 0.025, self.hand(turn)
        high, carry = top + 0.06, rim + 0.05
        return Waypoints(
            (
                Waypoint((x, y, high), hand, self.open, self.speed),
                Waypoint((x, y, grasp), hand, self.open, self.speed),
                Waypoint((x, y, grasp), hand, self.closed, self.speed),
                Waypoint((x, y, carry), hand, self.closed, self.speed),
                Waypoint((bx, by, carry), hand, self.closed, self.speed),
                Waypoint((bx, by, rim), hand, self.closed, self.speed),
                Waypoint((bx, by, rim), hand, 0.3 if self.open == 0.0 else 0.7, self.speed),
                Waypoint((bx, by, carry + 0.08), hand, 0.3 if self.open == 0.0 else 0.7, self.speed),
            )
        )

    def look(self, observation):
        view = observation.cameras["front"]
        return view.rgb, view.depth

    def points(self, observation, rgb, depth, color):
        """Points (n, 3) in the base frame of the pixels whose colour has this direction; None when they are few."""
        image = rgb.astype(float)
        direction = np.array(color) / np.linalg.norm(color)
        along = image @ direction
        found = (along > 60) & (np.linalg.norm(image - along[..., None] * direction, axis=2) < 0.22 * along)
        v, u = np.nonzero(found)
        if len(u) < 20:
            return None
        view = observation.cameras["front"]
        k, z = view.intrinsics, depth[v, u].astype(float)
        camera = np.column_stack([(u - k.cx) / k.fx * z, (v - k.cy) / k.fy * z, z])
        return camera @ view.extrinsics[:3, :3].T + view.extrinsics[:3, 3]

    def top_face(self, points, rim=False):
        """Middle and turn (rad) of the smallest rectangle around the highest points, and their height (m)."""
        top = float(np.quantile(points[:, 2], 0.98 if rim else 0.9))
        xy = points[points[:, 2] > top - 0.006, :2]
        best = None
        for angle in np.radians(np.arange(-45.0, 45.0, 1.0)):
            c, s = math.cos(angle), math.sin(angle)
            turned = xy @ np.array([[c, -s], [s, c]])
            low, high = turned.min(axis=0), turned.max(axis=0)
            area = float(np.prod(high - low))
            if best is None or area < best[0]:
                middle = (low + high) / 2
                best = (area, np.array([[c, -s], [s, c]]) @ middle, angle)
        return (float(best[1][0]), float(best[1][1])), float(best[2]), top

    def hand(self, turn):
        """The hand straight down, its fingers in line with a direction `turn` (rad) beside the base frame's -y."""
        angle = turn - math.pi / 2
        c, s = math.cos(angle), math.sin(angle)
        return matrix_quaternion([[-s, c, 0.0], [c, s, 0.0], [0.0, 0.0, -1.0]])
