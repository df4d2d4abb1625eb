"""What the agent sees at one moment: a picture, the points behind its pixels, and ground truth if it may have it.

Positions in a picture are measured at pixel edges, x to the right and y down: (0.5, 0.5) is the centre of the upper
left pixel. Everything here is about the picture as the agent looks at it, cropped and turned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import cv2
import numpy as np
import numpy.typing as npt

from rbench.geometry import Array, Pose, rotation_matrix
from rbench.observation import GroundTruth, Observation
from rbench_agent_moka.options import Options

Mask = npt.NDArray[np.bool_]
Image = npt.NDArray[np.uint8]

#: Blur (pixels) of the depth image in the published program.
_DEPTH_BLUR = 1.0


@dataclass(frozen=True, eq=False)
class Sight:
    """A picture and what is behind it.

    Attributes:
        rgb: (height, width, 3). depth: (height, width) metres along the optical axis, 0 where there is none.
        points: (height, width, 3) metres in the robot base frame, NaN where there is no depth.
        footprint: (height, width) metres that a pixel covers.
        extrinsics: camera-to-base (4, 4), OpenCV convention.
        truth: scene and state; None for an agent that is not privileged. base: pose of the robot in the world.
        time: simulated seconds.
    """

    rgb: Image
    depth: Array
    points: Array
    footprint: Array
    extrinsics: Array
    truth: GroundTruth | None
    base: Pose
    time: float

    @classmethod
    def of(cls, observation: Observation, base: Pose, options: Options, privileged: bool) -> Self:
        """Look through the camera of the options."""
        view = observation.cameras[options.camera]
        depth = _filled(view.depth, options.mode == "paper")
        v, u = np.mgrid[0 : view.height, 0 : view.width]
        local = view.intrinsics.rays(np.stack([u, v], axis=-1)) * depth[..., None]
        points = local @ view.extrinsics[:3, :3].T + view.extrinsics[:3, 3]
        points[depth == 0] = np.nan
        return cls(
            rgb=_shown(view.rgb, options),
            depth=_shown(depth, options),
            points=_shown(points, options),
            footprint=_shown(depth / view.intrinsics.fx, options),
            extrinsics=view.extrinsics,
            truth=observation.ground_truth if privileged else None,
            base=base,
            time=observation.time,
        )

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.depth.shape
        return height, width

    def in_body_frame(self, name: str) -> Array:
        """The points (height, width, 3) in the frame of a body of the ground truth."""
        assert self.truth is not None
        body = self.truth.state.bodies[name]
        world = self.points @ rotation_matrix(self.base.quaternion).T + np.array(self.base.position)
        return np.asarray((world - body.position) @ rotation_matrix(body.quaternion))


def _filled(depth: npt.NDArray[np.float32], blurred: bool) -> Array:
    """Depth with 0 where there is none, blurred as in the published program if so wanted."""
    valid = np.isfinite(depth) & (depth > 0)
    result = np.where(valid, depth, 0.0).astype(np.float64)
    if not blurred:
        return result
    weight = cv2.GaussianBlur(valid.astype(np.float64), (0, 0), _DEPTH_BLUR)
    smooth = cv2.GaussianBlur(result, (0, 0), _DEPTH_BLUR)
    return np.where(valid, smooth / np.maximum(weight, 1e-9), 0.0)


def _shown(image: npt.NDArray[Any], options: Options) -> npt.NDArray[Any]:
    """The part of a picture that is used, turned."""
    if options.crop is not None:
        y0, x0, y1, x1 = options.crop
        image = image[y0:y1, x0:x1]
    if options.rotate180:
        image = image[::-1, ::-1]
    return np.ascontiguousarray(image)
