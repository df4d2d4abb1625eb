"""Pictures of a MuJoCo model: colour, metric depth, and which geom each pixel shows."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar

import mujoco
import numpy as np
import numpy.typing as npt

from rbench.errors import UsageError, did_you_mean
from rbench.simulation import gl
from rbench.simulation.profiles import RenderProfile

_Number = TypeVar("_Number", np.uint8, np.float32, np.int32)
_FONT_SCALE = mujoco.mjtFontScale.mjFONTSCALE_50.value
#: A group of geoms that MuJoCo does not show unless it is told to.
_HIDDEN_GROUP = 5
_ALL_CATEGORIES = mujoco.mjtCatBit.mjCAT_ALL.value


class Renderer:
    """Draws one model with one render profile.

    The GL context is made at the first picture and belongs to that process and thread; another thread is
    refused, a forked child makes its own. Close it where it was used. Parameters written into the model
    (colours, poses, cameras, lights) show in the next picture; textures and meshes are read once.
    """

    def __init__(self, model: mujoco.MjModel, profile: RenderProfile) -> None:
        self._model = model
        self._profile = profile
        self._canvas: _Canvas | None = None
        self._closed = False

    def rgb(self, data: mujoco.MjData, camera: str, height: int, width: int) -> npt.NDArray[np.uint8]:
        """An upright colour image (height, width, 3), RGB, in a fresh array.

        Raises:
            UsageError: an unknown camera, an impossible size, another thread.
            StartError: OpenGL does not work here.
        """
        with self._drawn(data, camera, height, width) as (canvas, area):
            pixels = np.empty((height, width, 3), dtype=np.uint8)
            mujoco.mjr_readPixels(pixels, None, area, canvas.context)
        return _upright(pixels)

    def depth(
        self, data: mujoco.MjData, camera: str, height: int, width: int, *, both_sides: bool = False
    ) -> npt.NDArray[np.float32]:
        """Distance (m) along the optical axis (height, width), infinite where nothing was drawn.

        Args:
            both_sides: surfaces count also from behind, where pictures show through them: what a camera inside of
                something is inside of.
        """
        with self._drawn(data, camera, height, width, by_geom=True, both_sides=both_sides) as (canvas, area):
            buffer = np.empty((height, width), dtype=np.float32)
            mujoco.mjr_readPixels(None, buffer, area, canvas.context)
        return _upright(_metres(buffer, self._model))

    def segmentation(
        self, data: mujoco.MjData, camera: str, height: int, width: int, only: Collection[int] | None = None
    ) -> npt.NDArray[np.int32]:
        """The id of the geom that each pixel shows (height, width), -1 where there is none.

        Args:
            only: ids of the geoms that are drawn, as if nothing else were there; None: all.
        """
        with self._left_alone(only), self._drawn(data, camera, height, width, by_geom=True) as (canvas, area):
            pixels = np.empty((height, width, 3), dtype=np.uint8)
            mujoco.mjr_readPixels(pixels, None, area, canvas.context)
            geom_of_code = canvas.geom_of_code()
        codes = pixels.astype(np.int32)
        return _upright(geom_of_code[codes[..., 0] + (codes[..., 1] << 8) + (codes[..., 2] << 16)])

    def info(self) -> dict[str, str]:
        """The backend, and once something was drawn also the GL vendor, renderer and version."""
        if self._canvas is None:
            return {"backend": os.environ.get(gl.VARIABLE, "")}
        return dict(self._canvas.info)

    def close(self) -> None:
        """Free the GL context; closing twice is harmless."""
        if self._canvas is not None and self._canvas.is_mine():
            self._canvas.free()
        self._canvas = None
        self._closed = True

    @contextmanager
    def _left_alone(self, only: Collection[int] | None) -> Iterator[None]:
        """Within it, no geom but these is shown."""
        if only is None:
            yield
            return
        groups = self._model.geom_group.copy()
        try:
            self._model.geom_group[:] = _HIDDEN_GROUP
            self._model.geom_group[list(only)] = groups[list(only)]
            yield
        finally:
            self._model.geom_group[:] = groups

    @contextmanager
    def _drawn(
        self,
        data: mujoco.MjData,
        camera: str,
        height: int,
        width: int,
        by_geom: bool = False,
        both_sides: bool = False,
    ) -> Iterator[tuple[_Canvas, mujoco.MjrRect]]:
        number = self._camera_id(camera)
        limit = self._profile.max_size
        if not (0 < height <= limit and 0 < width <= limit):
            raise UsageError(
                f"camera {camera!r}: an image of {height} x {width} pixels cannot be drawn;"
                f" ask for 1 to {limit} pixels in height and width"
            )
        canvas = self._current_canvas(height, width)
        canvas.look(data, number, by_geom, both_sides)
        area = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(area, canvas.scene, canvas.context)
        yield canvas, area

    def _camera_id(self, camera: str) -> int:
        number = int(mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_CAMERA.value, camera))
        if number < 0:
            names = [self._model.camera(i).name for i in range(self._model.ncam)]
            raise UsageError(f"camera {camera!r} does not exist.{did_you_mean(camera, names)} Choose one of the scene.")
        return number

    def _current_canvas(self, height: int, width: int) -> _Canvas:
        if self._closed:
            raise UsageError("this renderer is closed; make a new one")
        if self._canvas is not None and self._canvas.process != os.getpid():
            self._canvas = None
        if self._canvas is None:
            self._canvas = _Canvas(self._model, self._profile)
        if not self._canvas.is_mine():
            raise UsageError(
                "this renderer belongs to the thread of its first picture; make a world in each thread that renders"
            )
        self._canvas.prepare(height, width)
        return self._canvas


class _Canvas:
    """GL resources of one renderer in one process and thread."""

    def __init__(self, model: mujoco.MjModel, profile: RenderProfile) -> None:
        self.process = os.getpid()
        self._thread = threading.get_ident()
        self._gl = gl.make_context()
        self._gl.make_current()
        self._model = model
        self.context = mujoco.MjrContext(model, _FONT_SCALE)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self.context)
        # Depth 0 at infinity keeps float precision where it is needed.
        self.context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self.context.shadowClip = profile.shadow_reach
        self.scene = mujoco.MjvScene(model, maxgeom=2 * model.ngeom + 100)
        self._shadows = profile.shadow_size > 0
        self._option = _what_is_shown()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self.info = {"backend": os.environ[gl.VARIABLE], **_gl_strings()}
        _open_canvases.add(self)
        # Registered after the backend's own handler, so that it runs before it.
        atexit.unregister(_free_canvases)
        atexit.register(_free_canvases)

    def is_mine(self) -> bool:
        return self.process == os.getpid() and self._thread == threading.get_ident()

    def prepare(self, height: int, width: int) -> None:
        """Make the context current, with room for an image."""
        self._gl.make_current()
        tall, wide = max(height, self.context.offHeight), max(width, self.context.offWidth)
        if (tall, wide) != (self.context.offHeight, self.context.offWidth):
            mujoco.mjr_resizeOffscreen(wide, tall, self.context)

    def look(self, data: mujoco.MjData, camera: int, by_geom: bool, both_sides: bool) -> None:
        """Fill the scene for a camera; `by_geom` paints every geom with its number instead of its colour."""
        self._camera.fixedcamid = camera
        flags = self.scene.flags
        flags[mujoco.mjtRndFlag.mjRND_SHADOW] = self._shadows
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = by_geom
        flags[mujoco.mjtRndFlag.mjRND_CULL_FACE] = not both_sides
        mujoco.mjv_updateScene(self._model, data, self._option, None, self._camera, _ALL_CATEGORIES, self.scene)

    def geom_of_code(self) -> npt.NDArray[np.int32]:
        """For each number that a pixel can hold (0 is background) the geom id or -1."""
        table = np.full(self.scene.ngeom + 1, -1, dtype=np.int32)
        for geom in self.scene.geoms[: self.scene.ngeom]:
            if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM and geom.segid >= 0:
                table[geom.segid + 1] = geom.objid
        return table

    def free(self) -> None:
        _open_canvases.discard(self)
        self._gl.make_current()
        self.context.free()
        self._gl.free()


_open_canvases: weakref.WeakSet[_Canvas] = weakref.WeakSet()


def _free_canvases() -> None:
    """Free what was left open, while the GL libraries are still there."""
    for canvas in list(_open_canvases):
        if canvas.is_mine():
            canvas.free()


def _what_is_shown() -> mujoco.MjvOption:
    option = mujoco.MjvOption()
    # Sites mark points of the model, they are no part of the world.
    option.sitegroup[:] = 0
    return option


def _gl_strings() -> dict[str, str]:
    from OpenGL import GL  # only here: it loads the GL library of the chosen backend

    names = {"vendor": GL.GL_VENDOR, "renderer": GL.GL_RENDERER, "version": GL.GL_VERSION}
    return {key: GL.glGetString(name).decode() for key, name in names.items()}


def _metres(buffer: npt.NDArray[np.float32], model: mujoco.MjModel) -> npt.NDArray[np.float32]:
    """Depth buffer values (1 at the near plane, 0 at the far one) as metres along the optical axis."""
    near = np.float64(model.vis.map.znear) * model.stat.extent
    far = np.float64(model.vis.map.zfar) * model.stat.extent
    metres = near * far / (near + buffer.astype(np.float64) * (far - near))
    return np.where(buffer > 0, metres, np.inf).astype(np.float32)


def _upright(pixels: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """The rows from top to bottom: GL stores the bottom one first."""
    return np.ascontiguousarray(pixels[::-1])
