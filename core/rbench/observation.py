"""What an agent sees: lazily rendered camera images and the robot's own state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rbench.errors import StaleObservation, did_you_mean
from rbench.geometry import Array, Pose
from rbench.scene import SceneDescription
from rbench.world_state import WorldState

Channel = Literal["rgb", "depth"]
Draw = Callable[[Channel], npt.NDArray[Any]]


@dataclass(frozen=True)
class CameraRequest:
    """What an agent wants of one camera: image size in pixels and channels."""

    height: int
    width: int
    channels: tuple[Channel, ...] = ("rgb",)


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole intrinsics in pixels; pixel (0, 0) is the upper left one, its centre at (0, 0)."""

    fx: float
    fy: float
    cx: float
    cy: float

    def matrix(self) -> Array:
        """The 3 x 3 camera matrix."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])

    def rays(self, pixels: Any) -> Array:
        """What pixels (..., 2), given as (u, v), look at: points (..., 3) at depth 1 in the OpenCV camera frame."""
        uv = np.asarray(pixels, dtype=np.float64)
        x, y = (uv[..., 0] - self.cx) / self.fx, (uv[..., 1] - self.cy) / self.fy
        return np.stack([x, y, np.ones_like(x)], axis=-1)


class CameraView:
    """One camera at one moment. Images are rendered when first read, and then kept.

    `extrinsics` is the pose of the camera in the robot base frame as a 4 x 4 matrix that maps OpenCV camera
    coordinates (x right, y down, z forward) to base coordinates.
    """

    def __init__(
        self,
        name: str,
        request: CameraRequest,
        intrinsics: Intrinsics,
        extrinsics: Callable[[], Array],
        render: Draw,
    ) -> None:
        self.name = name
        self.height = request.height
        self.width = request.width
        self.channels = request.channels
        self.intrinsics = intrinsics
        self._extrinsics = extrinsics
        self._render = render
        self._images: dict[Channel, npt.NDArray[Any]] = {}
        self._pose: Array | None = None

    def watch(self, around: Callable[[Draw], Draw]) -> None:
        """Let `around(draw)` draw from now on: how the host times what is drawn, and notices when it fails."""
        self._render = around(self._render)

    @property
    def rgb(self) -> npt.NDArray[np.uint8]:
        """Upright colour image (height, width, 3), uint8, RGB, read-only.

        Raises:
            StaleObservation: the world moved on before the first read.
        """
        return self._image("rgb")

    @property
    def depth(self) -> npt.NDArray[np.float32]:
        """Metric depth along the optical axis (height, width), float32 metres, read-only.

        Raises:
            StaleObservation: the world moved on before the first read.
        """
        return self._image("depth")

    @property
    def extrinsics(self) -> Array:
        """Camera-to-base transform (4, 4), OpenCV camera frame, metres."""
        if self._pose is None:
            self._pose = self._extrinsics()
            self._pose.flags.writeable = False
        return self._pose

    @property
    def read(self) -> tuple[Channel, ...]:
        """The channels read so far."""
        return tuple(self._images)

    def _image(self, channel: Channel) -> npt.NDArray[Any]:
        if channel not in self._images:
            if channel not in self.channels:
                raise AttributeError(
                    f"camera {self.name!r}: the manifest asks for {self.channels}, not {channel!r};"
                    f" add it to the channels of this camera in the agent's manifest"
                )
            image = self._render(channel)
            image.flags.writeable = False
            self._images[channel] = image
        return self._images[channel]


class Cameras(Mapping[str, CameraView]):
    """The cameras an agent asked for, by name."""

    def __init__(self, views: Mapping[str, CameraView]) -> None:
        self._views = dict(views)

    def __getitem__(self, name: str) -> CameraView:
        try:
            return self._views[name]
        except KeyError:
            hint = did_you_mean(name, self._views)
            raise KeyError(f"camera {name!r} is not in the agent's manifest.{hint}") from None

    def __iter__(self) -> Any:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)


@dataclass(frozen=True)
class GroundTruth:
    """What only a privileged agent is given: the scene as built and the state of the world."""

    scene: SceneDescription
    state: WorldState


class Observation:
    """One moment as an agent sees it.

    Attributes:
        time: simulated seconds since the start of the episode.
        cameras: the cameras of the agent's manifest, rendered when read.
        joint_positions: (7,) rad. joint_velocities: (7,) rad/s. Read-only.
        gripper: 0 open .. 1 closed, measured.
        end_effector: pose of the fingertip point in the robot base frame.
    """

    def __init__(
        self,
        *,
        time: float,
        cameras: Mapping[str, CameraView],
        joint_positions: Array,
        joint_velocities: Array,
        gripper: float,
        end_effector: Pose,
        ground_truth: GroundTruth | None = None,
    ) -> None:
        self.time = time
        self.cameras = Cameras(cameras)
        self.joint_positions = joint_positions
        self.joint_velocities = joint_velocities
        self.gripper = gripper
        self.end_effector = end_effector
        self._ground_truth = ground_truth
        for array in (joint_positions, joint_velocities):
            array.flags.writeable = False

    @property
    def ground_truth(self) -> GroundTruth:
        """Scene and state; only for an agent whose manifest says `privileged`."""
        if self._ground_truth is None:
            raise AttributeError(
                "ground truth is given only to privileged agents; set `privileged=True` in the manifest"
                " (results then carry that mark)"
            )
        return self._ground_truth


__all__ = [
    "CameraRequest",
    "CameraView",
    "Cameras",
    "Channel",
    "Draw",
    "GroundTruth",
    "Intrinsics",
    "Observation",
    "StaleObservation",
]
