"""What the viewpoint factors share: they move every viewpoint camera of a scene, and find out where each stands."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

from rbench.design import Level
from rbench.errors import UsageError
from rbench.geometry import Pose, multiply, quaternion, rotation_matrix, vec3
from rbench.interfaces.factor import Factor
from rbench.interfaces.world import World
from rbench.scene import Camera, SceneDescription, Setup


class ViewpointFactor(Factor):
    """A factor that moves every viewpoint camera alike.

    `read_back` gives the value of each camera by name, so that one camera built wrong is noticed.
    """

    name: ClassVar[str]

    @abstractmethod
    def move(self, camera: Camera, value: Any) -> Camera:
        """The camera, moved by a level's value."""

    @abstractmethod
    def read(self, asked: Camera, found: Camera) -> Any:
        """The value by which a camera of the simulator (`found`) was moved; comparable with `Level.value`."""

    @abstractmethod
    def apart(self, asked: Any, found: Any) -> float:
        """Largest absolute difference between a level's value and that of one camera."""

    def apply(self, setup: Setup, level: Level) -> Setup:
        scene = setup.scene
        for camera in self._viewpoint_cameras(scene):
            scene = scene.with_camera(self.move(camera, level.value))
        return replace(setup, scene=scene)

    def read_back(self, world: World) -> dict[str, Any]:
        asked, found = world.setup.scene, world.read_scene()
        return {c.name: self.read(c, found.camera(c.name)) for c in self._viewpoint_cameras(asked)}

    def difference(self, asked: Any, found: Any) -> float:
        return max(self.apart(asked, value) for value in found.values())

    def _viewpoint_cameras(self, scene: SceneDescription) -> list[Camera]:
        marked = [camera for camera in scene.cameras if camera.viewpoint]
        if not marked:
            raise UsageError(
                f"factor {self.name}: no camera of scene {scene.name!r} is a viewpoint camera;"
                " name some in `viewpoint_cameras` of the suite"
            )
        return marked


def mount_of(camera: Camera) -> Pose:
    """Where the camera was mounted, before it was turned or moved back from there."""
    return camera.pose if camera.reference is None else camera.reference


def compose(first: Pose, second: Pose) -> Pose:
    """The pose `second`, given in the frame of `first`, in the frame that `first` is given in."""
    position = rotation_matrix(first.quaternion) @ second.position + first.position
    return Pose(vec3(position), quaternion(multiply(first.quaternion, second.quaternion)))


def relative(base: Pose, pose: Pose) -> Pose:
    """The pose in the frame of `base`; both are given in the same frame."""
    w, x, y, z = base.quaternion
    inverse = (w, -x, -y, -z)
    offset = [p - b for p, b in zip(pose.position, base.position, strict=True)]
    return Pose(vec3(rotation_matrix(inverse) @ offset), quaternion(multiply(inverse, pose.quaternion)))
