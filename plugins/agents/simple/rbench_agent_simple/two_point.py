"""The published lift without depth: pixels become robot coordinates by two measured points, one line an axis.

No rotation and no perspective; what was measured once, on the baseline camera, is kept whatever the camera does, and
heights are fixed. The prototype's two points were measured by hand on its own rig; here they are computed for the
cameras of the built-in scene `tabletop`, as a ruler would find them there. Nothing of an episode enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians, tan

import numpy as np

from rbench.errors import UsageError, did_you_mean
from rbench.geometry import OPENGL_TO_OPENCV, Array
from rbench.observation import Intrinsics
from rbench.scene import Camera, SceneDescription
from rbench.suites.scene_files import load_scene
from rbench_agent_simple.lifting import Box4, Lifted

#: The scene on which the map was measured.
RIG = "tabletop"


@dataclass(frozen=True)
class TwoPoint:
    """The map from the middle of a box to the robot's x and y.

    Attributes:
        pixels: (2, 2) pixels (u, v) of the two measured points. points: (2, 2) their x and y, metres.
        across: the robot's x follows u (and y follows v); otherwise x follows v.
        table, object_top, rim: the fixed heights, metres.
    """

    pixels: Array
    points: Array
    across: bool
    table: float
    object_top: float
    rim: float

    def lifted(self, start: Box4, end: Box4) -> tuple[Lifted, Lifted]:
        """Object and box where the map puts their boxes' middles, at the fixed heights."""
        found = []
        for box, height in ((start, self.object_top), (end, self.rim)):
            x, y = self.place(box)
            found.append(Lifted((x, y, height), (x, y, height), self.table))
        return found[0], found[1]

    def place(self, box: Box4) -> tuple[float, float]:
        """Robot x and y (m) of the middle of a box (pixel edges)."""
        x1, y1, x2, y2 = box
        # Boxes are measured at pixel edges, the measured points at pixel centres.
        middle = np.array([(x1 + x2 - 1) / 2, (y1 + y2 - 1) / 2])
        share = (middle - self.pixels[0]) / (self.pixels[1] - self.pixels[0])
        share = share if self.across else share[::-1]
        x, y = self.points[0] + share * (self.points[1] - self.points[0])
        return float(x), float(y)


def measured(camera: str, height: int, width: int) -> TwoPoint:
    """The map for a camera of the built-in scene, measured where the box stands and at the far corner of the work area.

    Raises:
        UsageError: the scene has no such camera, or it moves.
    """
    scene = load_scene(RIG)
    standing = {c.name: c for c in scene.cameras if c.mount == "world"}
    if camera not in standing:
        raise UsageError(
            f"agent 'simple': lift=two_point was measured for the cameras of scene {RIG!r} that stand still, and"
            f" {camera!r} is none of them.{did_you_mean(camera, standing)} Choose one of those, or another lift."
        )
    item, receptacle = scene.objects[0], scene.receptacles[0]
    x, y = receptacle.pose.position[:2]
    corners = np.array([scene.work_area[:2], scene.work_area[2:]])
    far = corners[[0, 1], np.argmax(np.abs(corners - [[x], [y]]), axis=1)]
    middle = item.size[2] / 2
    world = np.array([[x, y, middle], [*far, middle]])
    lens = _lens(standing[camera], height, width)
    pixels = _seen(world, standing[camera], lens)
    step = _seen(world[:1] + np.array([0.01, 0.0, 0.0]), standing[camera], lens)[0] - pixels[0]
    table = float(_in_base(np.array([[x, y, 0.0]]), scene)[0, 2])
    return TwoPoint(
        pixels=pixels,
        points=_in_base(world, scene)[:, :2],
        across=bool(abs(step[0]) > abs(step[1])),
        table=table,
        object_top=table + item.size[2],
        rim=table + receptacle.wall + receptacle.inner[2],
    )


def _lens(camera: Camera, height: int, width: int) -> Intrinsics:
    focal = 0.5 * height / tan(0.5 * radians(camera.fovy))
    return Intrinsics(focal, focal, 0.5 * (width - 1), 0.5 * (height - 1))


def _seen(points: Array, camera: Camera, lens: Intrinsics) -> Array:
    """Pixels (n, 2) of world points (n, 3)."""
    pose = camera.pose.matrix()
    local = (points - pose[:3, 3]) @ (pose[:3, :3] @ OPENGL_TO_OPENCV)
    u = lens.fx * local[:, 0] / local[:, 2] + lens.cx
    v = lens.fy * local[:, 1] / local[:, 2] + lens.cy
    return np.column_stack([u, v])


def _in_base(points: Array, scene: SceneDescription) -> Array:
    pose = scene.robot.pose.matrix()
    return np.asarray((points - pose[:3, 3]) @ pose[:3, :3])
