"""Factor `camera-distance`: the viewpoint cameras move back along their optical axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.design import Level
from rbench.geometry import Pose
from rbench.scene import Camera
from rbench_factor_viewpoint.viewpoint_factor import ViewpointFactor, compose, mount_of, relative

Distance = Annotated[float, Field(ge=0)]


class Options(BaseModel):
    """Options of the factor; the defaults are the paper's (appendix A.1): eight steps of 0.05 m.

    Attributes:
        distances: metres back from where each camera was mounted.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    distances: list[Distance] = Field(default=[0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4], min_length=1)


class CameraDistance(ViewpointFactor):
    """A level's value is the distance (m) moved back along the camera's own optical axis; it does not turn.

    Together with `camera-euler` the cameras turn first: a suite names that factor before this one.
    """

    name: ClassVar[str] = "camera-distance"
    tolerance = 1e-6

    def __init__(self, options: Options) -> None:
        self._options = options

    def levels(self) -> Sequence[Level]:
        return tuple(Level(f"d{distance:.2f}", distance) for distance in self._options.distances)

    def sample(self, rng: np.random.Generator) -> Level:
        """A distance uniform between the nearest and the farthest level."""
        distances = self._options.distances
        distance = round(float(rng.uniform(min(distances), max(distances))), 3)
        return Level(f"d{distance:.3f}", distance)

    def move(self, camera: Camera, value: Any) -> Camera:
        back = Pose((0.0, 0.0, float(value)))
        return replace(camera, pose=compose(camera.pose, back), reference=mount_of(camera))

    def read(self, asked: Camera, found: Camera) -> Any:
        """The distance, or the whole displacement in the camera's frame when it is not along the axis."""
        x, y, z = (-v for v in relative(found.pose, mount_of(asked)).position)
        return z if max(abs(x), abs(y)) <= self.tolerance else (x, y, z)

    def apart(self, asked: Any, found: Any) -> float:
        """Difference of the distances (m); infinite when the camera moved aside."""
        return inf if isinstance(found, tuple) else abs(float(asked) - float(found))
