"""A first picture with one OpenGL backend, in a process of its own: `python -m rbench.simulation.gl_probe egl`.

Prints what drew it as a JSON object, or ends with the reason on stderr.
"""

from __future__ import annotations

import json
import sys

from rbench.errors import StartError
from rbench.simulation import gl

_SIZE = 32
#: A white wall before the camera, with a light on it: whatever is drawn right is bright.
_SCENE = """
<mujoco>
  <visual><headlight ambient="1 1 1"/></visual>
  <worldbody><geom type="box" size="9 9 .1"/><camera name="eye" pos="0 0 2"/></worldbody>
</mujoco>
"""


def main(backend: str) -> None:
    """Draw with a backend and print `{"vendor", "renderer", "version"}`."""
    try:
        gl.use_gl(backend)
        context = gl.make_context()
        context.make_current()
    except StartError as problem:
        sys.exit(str(problem) if problem.__cause__ is None else gl.failure_reason(backend, problem.__cause__))
    # The backend is chosen now; MuJoCo reads the choice when it is imported.
    import mujoco
    import numpy as np
    from OpenGL import GL

    model = mujoco.MjModel.from_xml_string(_SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = mujoco.MjvCamera()
    camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    scene = mujoco.MjvScene(model, maxgeom=10)
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, camera, mujoco.mjtCatBit.mjCAT_ALL.value, scene)
    renderer = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, renderer)
    area, pixels = mujoco.MjrRect(0, 0, _SIZE, _SIZE), np.zeros((_SIZE, _SIZE, 3), np.uint8)
    mujoco.mjr_render(area, scene, renderer)
    mujoco.mjr_readPixels(pixels, None, area, renderer)
    names = {"vendor": GL.GL_VENDOR, "renderer": GL.GL_RENDERER, "version": GL.GL_VERSION}
    drawn_by = {key: GL.glGetString(name).decode() for key, name in names.items()}
    renderer.free()
    context.free()
    if pixels.mean() < 128:
        sys.exit(f"it draws, but a bright wall comes out dark (mean {pixels.mean():.0f} of 255)")
    print(json.dumps(drawn_by))


if __name__ == "__main__":
    main(sys.argv[1])
