"""A compiled scene ready to be stepped and drawn, and the few that a world keeps."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from rbench.geometry import Array, Pose, quaternion, vec3
from rbench.observation import Channel
from rbench.scene import Camera, SceneDescription
from rbench.simulation.cameras import extrinsics, opencv_extrinsics
from rbench.simulation.compile import CompiledScene, compile_scene, structure_of
from rbench.simulation.profiles import RenderProfile
from rbench.simulation.rendering import Renderer

#: Scenes of different structure that a world keeps ready; each has a GL context of its own once it was drawn.
KEPT_STAGES = 8


class Stage:
    """A model with its state and, once something was drawn, its renderer."""

    def __init__(self, compiled: CompiledScene, profile: RenderProfile) -> None:
        self.compiled = compiled
        self.model = compiled.model
        self.data = mujoco.MjData(compiled.model)
        self._profile = profile
        self._renderer: Renderer | None = None

    def draw(self, channel: Channel, camera: str, height: int, width: int) -> npt.NDArray[Any]:
        """An image of the present moment in a fresh array."""
        renderer = self._ready_renderer()
        draw = renderer.rgb if channel == "rgb" else renderer.depth
        return draw(self.data, camera, height, width)

    def nearness(self, camera: str, height: int, width: int) -> npt.NDArray[np.float32]:
        """Distance (m) along the optical axis to the nearest surface, seen from whichever side."""
        return self._ready_renderer().depth(self.data, camera, height, width, both_sides=True)

    def masks(self, camera: str, height: int, width: int, alone: str | None = None) -> dict[str, npt.NDArray[np.bool_]]:
        """Visible pixels of every entity; all False where nothing of it is seen.

        Args:
            alone: the only entity that is drawn, so that nothing hides it.
        """
        names = self.compiled.entity_of_geom
        only = None if alone is None else [geom for geom, name in enumerate(names) if name == alone]
        geoms = self._ready_renderer().segmentation(self.data, camera, height, width, only)
        masks = {name: np.zeros(geoms.shape, dtype=np.bool_) for name in names}
        for geom in np.unique(geoms[geoms >= 0]):
            masks[names[geom]] |= geoms == geom
        return masks

    def camera_to_base(self, camera: Camera, base: Pose, *, nominal: bool) -> Array:
        """Camera-to-base transform (4, 4), OpenCV convention, of a camera where it is or where it was mounted."""
        if not nominal or camera.reference is None:
            mujoco.mj_camlight(self.model, self.data)
            return extrinsics(self.model, self.data, camera.name, base)
        mounted = camera.reference.matrix()
        if camera.mount == "hand":
            hand = self.compiled.hand
            mounted = Pose(vec3(self.data.xpos[hand]), quaternion(self.data.xquat[hand])).matrix() @ mounted
        return opencv_extrinsics(mounted, base)

    def gl_info(self) -> dict[str, str] | None:
        """Vendor, renderer and version of OpenGL; None while nothing was drawn."""
        return self._renderer.info() if self._renderer is not None else None

    def close(self) -> None:
        """Free the GL context."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _ready_renderer(self) -> Renderer:
        if self._renderer is None:
            self._renderer = Renderer(self.model, self._profile)
        # A control tick brings body poses up to date, cameras and lights only when they are needed.
        mujoco.mj_camlight(self.model, self.data)
        return self._renderer


class Stages:
    """The stages of one world by structure, the least recently used dropped first."""

    def __init__(self, profile: RenderProfile) -> None:
        self._profile = profile
        self._kept: OrderedDict[SceneDescription, Stage] = OrderedDict()
        self._latest: tuple[SceneDescription, Stage] | None = None

    def stage(self, scene: SceneDescription) -> Stage:
        """The stage for a scene's structure."""
        structure = structure_of(scene)
        if self._latest is not None and self._latest[0] == structure:  # a fifth of the time that its hash takes
            return self._latest[1]
        found = self._kept.pop(structure, None)
        if found is None:
            found = Stage(compile_scene(scene, self._profile), self._profile)
        self._kept[structure] = found
        self._latest = (structure, found)
        while len(self._kept) > KEPT_STAGES:
            self._kept.popitem(last=False)[1].close()
        return found

    def close(self) -> None:
        """Free every stage."""
        for stage in self._kept.values():
            stage.close()
        self._kept.clear()
        self._latest = None
