"""Factor `camera-pose`: the viewpoint cameras stand on an orbit around the work area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.design import Level
from rbench.geometry import Pose, quaternion, quaternion_distance, vec3
from rbench.scene import Camera
from rbench.values import to_plain
from rbench_factor_viewpoint.orbit import orbit_pose
from rbench_factor_viewpoint.viewpoint_factor import ViewpointFactor, compose, mount_of, relative

Elevation = Annotated[float, Field(gt=0, lt=90)]


class Options(BaseModel):
    """Options of the factor.

    "Three sets of seven cameras arranged in concentric rings, a top-down, panoramic view in front of the robot
    arm" (paper, appendix A.1); the numbers are our choice: a half circle in front of the robot, on which the arm at
    rest hides nothing, far enough away to hold object, box and work area whole.

    Attributes:
        target: the point looked at (m, world frame).
        radius: distance of the cameras from it (m).
        elevations: degrees above the horizontal, one a ring; `r1` is the first.
        azimuths: degrees about the vertical, one a camera of a ring; `a1` is the first. 0 is in front of the
            robot, 90 to its left.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    target: tuple[float, float, float] = (0.46, -0.015, 0.02)
    radius: float = Field(default=0.55, gt=0)
    elevations: list[Elevation] = Field(default=[40.0, 55.0, 70.0], min_length=1)
    azimuths: list[float] = Field(default=[-90.0, -60.0, -30.0, 0.0, 30.0, 60.0, 90.0], min_length=1)


class CameraPose(ViewpointFactor):
    """Orbit poses; a level's value is the pose: position (m) and quaternion (wxyz, OpenGL camera), world frame.

    Every viewpoint camera takes the same pose and keeps its optics. It counts as mounted there: a turn or
    distance of other factors is kept, relative to the new place.
    """

    name: ClassVar[str] = "camera-pose"
    tolerance = 1e-6

    def __init__(self, options: Options) -> None:
        self._options = options

    def levels(self) -> Sequence[Level]:
        return tuple(
            self._level(f"r{ring}a{angle}", elevation, azimuth)
            for ring, elevation in enumerate(self._options.elevations, 1)
            for angle, azimuth in enumerate(self._options.azimuths, 1)
        )

    def sample(self, rng: np.random.Generator) -> Level:
        """A pose whose elevation and azimuth are uniform between the outermost levels."""
        elevations, azimuths = self._options.elevations, self._options.azimuths
        elevation = round(float(rng.uniform(min(elevations), max(elevations))), 1)
        azimuth = round(float(rng.uniform(min(azimuths), max(azimuths))), 1)
        return self._level(f"el{elevation}_az{azimuth}", elevation, azimuth)

    def move(self, camera: Camera, value: Any) -> Camera:
        mount = _pose(value)
        if camera.reference is None:
            return replace(camera, pose=mount, reference=mount)
        return replace(camera, pose=compose(mount, relative(camera.reference, camera.pose)), reference=mount)

    def read(self, asked: Camera, found: Camera) -> Any:
        # A turn or distance that was asked for is taken off again.
        return to_plain(compose(found.pose, relative(asked.pose, mount_of(asked))))

    def apart(self, asked: Any, found: Any) -> float:
        """The larger of the largest difference of a coordinate (m) and the angle between the orientations (rad)."""
        a, b = _pose(asked), _pose(found)
        apart = max(abs(p - q) for p, q in zip(a.position, b.position, strict=True))
        return max(apart, quaternion_distance(a.quaternion, b.quaternion))

    def _level(self, name: str, elevation: float, azimuth: float) -> Level:
        return Level(name, to_plain(orbit_pose(self._options.target, self._options.radius, elevation, azimuth)))


def _pose(value: Any) -> Pose:
    return Pose(vec3(value["position"]), quaternion(value["quaternion"]))
