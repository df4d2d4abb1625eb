"""Factor `camera-euler`: the viewpoint cameras turn in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import asin, atan2, degrees, inf, radians
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.design import Level
from rbench.geometry import Pose, axis_angle, multiply, quaternion, rotation_matrix
from rbench.scene import Camera
from rbench_factor_viewpoint.viewpoint_factor import ViewpointFactor, mount_of, relative

_RIGHT, _UP = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


class Options(BaseModel):
    """Options of the factor; the defaults are the paper's (appendix A.1).

    Attributes:
        yaw: degrees about the camera's up axis; positive looks further left.
        pitch: degrees about the camera's right axis; positive looks further up.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    yaw: list[float] = Field(default=[-6.0, 0.0, 6.0], min_length=1)
    pitch: list[float] = Field(default=[-6.0, 0.0, 6.0], min_length=1)


class CameraEuler(ViewpointFactor):
    """Every yaw with every pitch; a level's value is (yaw, pitch) in degrees.

    Each camera turns in its own frame, first about its up axis, then about its right axis as turned by then;
    its position stays.
    """

    name: ClassVar[str] = "camera-euler"
    tolerance = 1e-5

    def __init__(self, options: Options) -> None:
        self._options = options

    def levels(self) -> Sequence[Level]:
        return tuple(_level(yaw, pitch) for yaw in self._options.yaw for pitch in self._options.pitch)

    def sample(self, rng: np.random.Generator) -> Level:
        """Yaw and pitch uniform between the outermost levels."""
        yaw, pitch = (
            round(float(rng.uniform(min(angles), max(angles))), 2)
            for angles in (self._options.yaw, self._options.pitch)
        )
        return _level(yaw, pitch)

    def move(self, camera: Camera, value: Any) -> Camera:
        yaw, pitch = value
        turn = multiply(axis_angle(_UP, radians(yaw)), axis_angle(_RIGHT, radians(pitch)))
        turned = quaternion(multiply(camera.pose.quaternion, turn))
        return replace(camera, pose=Pose(camera.pose.position, turned), reference=mount_of(camera))

    def read(self, asked: Camera, found: Camera) -> tuple[float, ...]:
        """(yaw, pitch), and the roll where there is one, which no level has."""
        turn = rotation_matrix(relative(mount_of(asked), found.pose).quaternion)
        # turn = R_y(yaw) R_x(pitch) R_z(roll)
        yaw, pitch = atan2(turn[0, 2], turn[2, 2]), asin(max(-1.0, min(1.0, -turn[1, 2])))
        roll = atan2(turn[1, 0], turn[1, 1])
        angles = (degrees(yaw), degrees(pitch), degrees(roll))
        return angles if abs(angles[2]) > self.tolerance else angles[:2]

    def apart(self, asked: Any, found: Any) -> float:
        """The larger difference of yaw and pitch (degrees); infinite when the camera rolled."""
        return max(abs(a - f) for a, f in zip(asked, found, strict=True)) if len(asked) == len(found) else inf


def _level(yaw: float, pitch: float) -> Level:
    # Adding zero turns -0.0, which would be another name, into 0.0.
    return Level(f"yaw{yaw + 0:g}_pitch{pitch + 0:g}", (yaw + 0.0, pitch + 0.0))
