"""Scene descriptions: immutable values that say everything about one scene.

A scene description never touches a simulator. Factors change it as a value
(`dataclasses.replace`), a world builds it. Lengths are metres, angles degrees where named so,
colours sRGB triples 0..255, frames: world frame z up with the robot base at its origin
unless `Robot.pose` says otherwise. Camera frames are OpenGL (`rbench.geometry`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import radians
from typing import Literal, TypeVar

from rbench.geometry import IDENTITY_POSE, Pose, Vec3, axis_angle, multiply, quaternion
from rbench.values import KnownTexts, content_hash_by_parts

Color = tuple[int, int, int]
Shape = Literal["cube", "cylinder", "pyramid", "prism"]


@dataclass(frozen=True)
class Material:
    """How a surface answers to light: specular 0..1, shininess 0..1, reflectance 0..1."""

    specular: float = 0.1
    shininess: float = 0.2
    reflectance: float = 0.0


MATTE = Material()


@dataclass(frozen=True)
class Texture:
    """A surface pattern: one colour, or two in a checker (`size` m a square) or a soft noise."""

    kind: Literal["flat", "checker", "noise"] = "flat"
    color: Color = (128, 128, 128)
    second: Color = (128, 128, 128)
    size: float = 0.1


GRAY = Texture()


@dataclass(frozen=True)
class SceneObject:
    """A free solid. `size` holds the full extents (m) of its bounding box in its own frame.

    Its frame sits in the middle of the bounding box. `mass` in kg. `friction` is the coefficient of sliding friction
    of its contacts with table, floor, receptacles and the hand; of two objects that touch, the larger one counts. In
    a grasp it does not count: the fingertips bring their own, of rubber, to everything they hold.
    """

    name: str
    shape: Shape
    size: Vec3
    pose: Pose
    color: Color
    mass: float = 0.06
    friction: float = 1.0
    material: Material = MATTE


@dataclass(frozen=True)
class Receptacle:
    """An open box: `inner` full extents (m) of its cavity, `wall` thickness (m), a free body of `mass` kg.

    Its frame sits in the middle of the underside of its floor, z up through the opening.
    """

    name: str
    inner: Vec3
    wall: float
    pose: Pose
    color: Color
    mass: float = 0.4
    material: Material = MATTE


@dataclass(frozen=True)
class Camera:
    """A named pinhole camera.

    `pose` is in the OpenGL convention (x right, y up, looks along -z), in the world frame or,
    for `mount = "hand"`, in the frame of the robot's hand. Its optics are either the vertical
    field of view `fovy` (degrees) or, when `focal` is given, focal lengths (fx, fy) and principal
    point (cx, cy) in pixels at `resolution` (height, width); pixel (0, 0) has its centre at (0, 0), and
    without `principal` the axis meets the middle of the image. `viewpoint` marks the cameras on which
    viewpoint factors act. `reference` is where such a camera was mounted, before it was turned or moved
    back from there (None: it stands where it was mounted); pictures are taken from `pose`.
    """

    name: str
    pose: Pose
    resolution: tuple[int, int] = (256, 256)
    fovy: float = 45.0
    focal: tuple[float, float] | None = None
    principal: tuple[float, float] | None = None
    mount: Literal["world", "hand"] = "world"
    viewpoint: bool = False
    reference: Pose | None = None


@dataclass(frozen=True)
class Light:
    """A light. Intensities 0..1; `directional` lights ignore distance."""

    name: str
    position: Vec3
    direction: Vec3
    diffuse: float = 0.3
    ambient: float = 0.0
    specular: float = 0.1
    directional: bool = True
    shadow: bool = True


@dataclass(frozen=True)
class Headlight:
    """The light that travels with every camera; intensities 0..1."""

    ambient: float = 0.3
    diffuse: float = 0.3
    specular: float = 0.0


@dataclass(frozen=True)
class Robot:
    """The robot: model name, base pose and its joint angles (rad) at reset, gripper 0 open .. 1 closed."""

    model: str
    home: tuple[float, ...]
    pose: Pose = IDENTITY_POSE
    gripper: float = 0.0


@dataclass(frozen=True)
class Table:
    """A table whose top surface is a rectangle `size` (x, y) at height `center[2]`."""

    center: Vec3
    size: tuple[float, float]
    texture: Texture = GRAY
    thickness: float = 0.05


#: Factors change a part of a scene and leave the others the same objects.
_KNOWN = KnownTexts()


@dataclass(frozen=True)
class SceneDescription:
    """Everything about one scene. Plain data: hashable, comparable, JSON in and out.

    `work_area` is the rectangle (x_min, x_max, y_min, y_max) on the table in which objects start.
    """

    name: str
    robot: Robot
    table: Table
    objects: tuple[SceneObject, ...]
    receptacles: tuple[Receptacle, ...]
    cameras: tuple[Camera, ...]
    lights: tuple[Light, ...]
    headlight: Headlight
    floor: Texture
    background: Texture
    work_area: tuple[float, float, float, float]

    def object(self, name: str) -> SceneObject:
        """The object of that name; KeyError names what there is."""
        return _named(self.objects, name, "object", self.name)

    def receptacle(self, name: str) -> Receptacle:
        """The receptacle of that name; KeyError names what there is."""
        return _named(self.receptacles, name, "receptacle", self.name)

    def camera(self, name: str) -> Camera:
        """The camera of that name; KeyError names what there is."""
        return _named(self.cameras, name, "camera", self.name)

    def with_object(self, changed: SceneObject) -> SceneDescription:
        """A copy in which the object of the same name is replaced."""
        self.object(changed.name)
        objects = tuple(changed if o.name == changed.name else o for o in self.objects)
        return replace(self, objects=objects)

    def with_camera(self, changed: Camera) -> SceneDescription:
        """A copy in which the camera of the same name is replaced."""
        self.camera(changed.name)
        cameras = tuple(changed if c.name == changed.name else c for c in self.cameras)
        return replace(self, cameras=cameras)

    def hash(self) -> str:
        """SHA-256 of the description; equal scenes have equal hashes."""
        return content_hash_by_parts(self, _KNOWN)


@dataclass(frozen=True)
class Setup:
    """What a factor changes: the scene and the instruction."""

    scene: SceneDescription
    instruction: str


@dataclass(frozen=True)
class Jitter:
    """A small displacement of one object: metres in the table plane, degrees about the vertical."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0


def jittered(setup: Setup, jitter: dict[str, Jitter]) -> Setup:
    """The setup with every named object displaced by its jitter."""
    scene = setup.scene
    for name, shift in jitter.items():
        item = scene.object(name)
        x, y, z = item.pose.position
        turn = axis_angle((0.0, 0.0, 1.0), radians(shift.yaw))
        pose = Pose((x + shift.x, y + shift.y, z), quaternion(multiply(turn, item.pose.quaternion)))
        scene = scene.with_object(replace(item, pose=pose))
    return replace(setup, scene=scene)


_Named = TypeVar("_Named", SceneObject, Receptacle, Camera)


def _named(items: tuple[_Named, ...], name: str, kind: str, scene: str) -> _Named:
    for item in items:
        if item.name == name:
            return item
    known = ", ".join(i.name for i in items) or "none"
    raise KeyError(f"scene {scene!r} has no {kind} {name!r} (it has: {known})")
