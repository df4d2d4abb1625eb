"""What an agent's pictures cost: through an observation, and drawn by MuJoCo alone; one to four cameras.

    python benchmarks/cameras.py [--profile standard] [--sizes 224x224 480x640]

Both draw the same moments of the same scene in one process, in turns; processor time, the least of the rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import mujoco
import numpy as np

from rbench.observation import CameraRequest
from rbench.scene import Setup
from rbench.simulation import gl
from rbench.simulation.profiles import render_profile
from rbench.simulation.world import MujocoWorld
from rbench.suites.scene_files import load_scene

RATE = 20


class Raw:
    """MuJoCo's own calls, nothing else."""

    def __init__(self, world: MujocoWorld, shadow_reach: float, shadows: bool) -> None:
        self.model, self.data = world.model, world.data
        self._gl = gl.make_context()
        self._gl.make_current()
        self.context = mujoco.MjrContext(self.model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self.context)
        self.context.shadowClip = shadow_reach
        self.scene = mujoco.MjvScene(self.model, maxgeom=2 * self.model.ngeom + 100)
        self.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        self.option, self.camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self.camera.type = mujoco.mjtCamera.mjCAMERA_FIXED

    def draw(self, names: list[str], height: int, width: int) -> None:
        """A colour picture of each camera."""
        self._gl.make_current()
        if (height, width) != (self.context.offHeight, self.context.offWidth):
            mujoco.mjr_resizeOffscreen(width, height, self.context)
        mujoco.mj_camlight(self.model, self.data)
        area = mujoco.MjrRect(0, 0, width, height)
        for name in names:
            self.camera.fixedcamid = self.model.camera(name).id
            mujoco.mjv_updateScene(
                self.model, self.data, self.option, None, self.camera, mujoco.mjtCatBit.mjCAT_ALL.value, self.scene
            )
            mujoco.mjr_render(area, self.scene, self.context)
            mujoco.mjr_readPixels(np.empty((height, width, 3), dtype=np.uint8), None, area, self.context)


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def measured(
    world: MujocoWorld, setup: Setup, raw: Raw, names: list[str], size: tuple[int, int]
) -> tuple[float, float]:
    """Least CPU seconds of one look, through an observation and raw."""
    height, width = size
    world.reset(setup, control_rate=RATE, cameras={name: CameraRequest(height, width) for name in names})

    def look() -> None:
        observation = world.observe()
        for name in names:
            _ = observation.cameras[name].rgb

    ours, theirs = [], []
    for _ in range(12):
        ours.append(seconds(look))
        theirs.append(seconds(lambda: raw.draw(names, height, width)))
    return min(ours[2:]), min(theirs[2:])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="standard")
    parser.add_argument("--sizes", nargs="+", default=["224x224", "480x640"])
    given = parser.parse_args()
    gl.use_gl(gl.choose_gl())
    profile = render_profile(given.profile)
    setup = Setup(load_scene("tabletop"), "")
    world = MujocoWorld(profile)
    world.reset(setup, control_rate=RATE, cameras={"front": CameraRequest(64, 64)})
    _ = world.observe().cameras["front"].rgb
    raw = Raw(world, profile.shadow_reach, profile.shadow_size > 0)
    names = [camera.name for camera in setup.scene.cameras]
    for text in given.sizes:
        height, _, width = text.partition("x")
        for count in range(1, len(names) + 1):
            ours, theirs = measured(world, setup, raw, names[:count], (int(height), int(width)))
            print(
                f"{given.profile} {text:8} {count} camera{'s' * (count > 1):1}  {1e3 * ours:7.1f} ms"
                f"  raw {1e3 * theirs:7.1f} ms  {100 * (ours / theirs - 1):+5.1f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
