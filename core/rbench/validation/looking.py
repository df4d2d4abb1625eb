"""Looking at an instance through the viewpoint cameras: pictures, and what is measured in them.

Masks, depth and faces are the same for every colour, so they are made once for each geometry; the picture is drawn for
every look.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from PIL import Image

from rbench.design import Instance
from rbench.interfaces.world import World
from rbench.running.worker import build_world
from rbench.scene import GRAY, MATTE, Headlight, Light, SceneDescription
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.validation.color_difference import lab_of
from rbench.validation.measures import (
    Extent,
    Form,
    Mask,
    color_distance,
    contrast,
    extent,
    form,
    inside,
    lightness_spread,
    shading,
    share_near,
    surroundings,
)
from rbench.vision.question_keys import image_hash

#: Scenes of different geometry that are remembered.
KEPT_GEOMETRIES = 16
#: Any control rate does: nothing acts.
_RATE = 20


class MeasurableWorld(World, Protocol):
    """A world that can be measured: what `rbench.simulation.world.MujocoWorld` has besides a world's methods."""

    def masks(self, camera: str, height: int, width: int, alone: str | None = None) -> dict[str, Mask]:
        """Visible pixels of every entity, or of one as if nothing else were there."""

    def depth(self, camera: str, height: int, width: int) -> npt.NDArray[np.float32]:
        """Distance along the optical axis (m)."""

    def nearness(self, camera: str, height: int, width: int) -> npt.NDArray[np.float32]:
        """The same, of surfaces seen from behind too."""


@dataclass(frozen=True, eq=False)
class Look:
    """What one camera shows: `measures` as plain data, and the picture."""

    camera: str
    measures: Mapping[str, Any]
    png: bytes
    image_hash: str


@dataclass(frozen=True, eq=False)
class _Geometry:
    """What one camera shows of a scene of whatever colours."""

    near: float
    objects: Mapping[str, tuple[Mask, Extent, Form]]
    boxes: Mapping[str, tuple[Mask, Extent]]


class Looker:
    """Looks at instances of one suite; owns its world."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._manager = RecursiveVariantTaskManager(suite)
        self._world = cast(MeasurableWorld, build_world(suite))
        self._known: OrderedDict[tuple[str, SceneDescription], dict[str, _Geometry]] = OrderedDict()

    @property
    def gl(self) -> Mapping[str, Any]:
        """What draws the pictures; empty before the first."""
        return self._world.provenance().get("gl") or {}

    def look(self, instance: Instance) -> list[Look]:
        """What each viewpoint camera of the suite shows of an instance without jitter, at the scene's resolution."""
        setup = self._manager.setup(instance)
        self._world.reset(setup, control_rate=_RATE, cameras={})
        key = (instance.task, geometry_of(setup.scene))
        known = self._known.setdefault(key, {})
        self._known.move_to_end(key)
        while len(self._known) > KEPT_GEOMETRIES:
            self._known.popitem(last=False)
        looks = []
        for camera in self._suite.viewpoint_cameras:
            if camera not in known:
                known[camera] = self._geometry(instance, setup.scene, camera)
            picture = self._world.render(camera, *setup.scene.camera(camera).resolution)
            looks.append(Look(camera, _measures(picture, known[camera]), _png(picture), image_hash(picture)))
        return looks

    def close(self) -> None:
        """Free the world."""
        self._world.close()

    def _geometry(self, instance: Instance, scene: SceneDescription, camera: str) -> _Geometry:
        from rbench.simulation.cameras import intrinsics_of  # imports the simulator, whose GL is chosen by now

        height, width = scene.camera(camera).resolution
        intrinsics = intrinsics_of(scene.camera(camera), height, width)
        masks = self._world.masks(camera, height, width)
        depth = self._world.depth(camera, height, width)
        near = self._world.nearness(camera, height, width)
        goal = self._suite.task(instance.task).goal
        named = {body for condition in goal for body in condition.arguments.values()}

        def of(body: str) -> tuple[Mask, Extent]:
            alone = self._world.masks(camera, height, width, alone=body)[body]
            return masks[body], extent(masks[body], alone)

        return _Geometry(
            share_near(near, self._suite.validation.near),
            {o.name: (*of(o.name), form(masks[o.name], depth, intrinsics)) for o in scene.objects if o.name in named},
            {box.name: of(box.name) for box in scene.receptacles if box.name in named},
        )


def geometry_of(scene: SceneDescription) -> SceneDescription:
    """The scene with colours, materials, lights and textures replaced by constants: equal ones have equal shapes."""
    black = (0, 0, 0)
    return replace(
        scene,
        objects=tuple(replace(item, color=black, material=MATTE) for item in scene.objects),
        receptacles=tuple(replace(item, color=black, material=MATTE) for item in scene.receptacles),
        table=replace(scene.table, texture=GRAY),
        lights=tuple(Light(light.name, (0.0, 0.0, 0.0), (0.0, 0.0, -1.0)) for light in scene.lights),
        headlight=Headlight(),
        floor=GRAY,
        background=GRAY,
    )


def _measures(picture: npt.NDArray[np.uint8], seen: _Geometry) -> dict[str, Any]:
    lab = lab_of(picture)
    return {
        "picture": {"lightness": lightness_spread(lab), "near": seen.near},
        "objects": {
            name: {
                **_plain(found),
                "contrast": contrast(lab, inside(mask), surroundings(mask)),
                "box_contrast": min(
                    (color_distance(lab, inside(mask), inside(box)) for box, _ in seen.boxes.values() if box.any()),
                    default=None,
                ),
                "turned": faces.turned,
                "shading": shading(lab, faces),
            }
            for name, (mask, found, faces) in seen.objects.items()
        },
        "boxes": {name: _plain(found) for name, (_, found) in seen.boxes.items()},
    }


def _plain(found: Extent) -> dict[str, Any]:
    return {"visible": found.visible, "width": found.width, "cut_off": found.cut_off, "pixels": found.pixels}


def _png(picture: npt.NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()
