"""A first view of the built-in scene, in a process of its own: `python -m rbench.doctor.first_view BACKEND`.

Builds the scene, draws it unless BACKEND is `disabled`, and prints what it saw as a JSON object:
`{"build_seconds", "frame_milliseconds", "mean", "contrast"}`, the last three null without a picture.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

SCENE, CAMERA, SIZE = "tabletop", "front", 256
FRAMES = 5


def main(backend: str) -> None:
    """Build, draw and print."""
    from rbench.simulation import gl

    gl.use_gl(backend)
    # Only now: MuJoCo reads the choice of a backend when it is imported.
    from rbench.scene import Setup
    from rbench.simulation.profiles import render_profile
    from rbench.simulation.world import MujocoWorld
    from rbench.suites.scene_files import load_scene

    start = perf_counter()
    world = MujocoWorld(render_profile("standard"))
    world.reset(Setup(load_scene(SCENE), ""), control_rate=20, cameras={})
    seen: dict[str, float | None] = {"build_seconds": perf_counter() - start}
    seen |= dict.fromkeys(("frame_milliseconds", "mean", "contrast"))
    if backend != gl.DISABLED:
        world.render(CAMERA, SIZE, SIZE)  # the first one makes the context
        start = perf_counter()
        for _ in range(FRAMES):
            picture = world.render(CAMERA, SIZE, SIZE)
        seen["frame_milliseconds"] = (perf_counter() - start) / FRAMES * 1e3
        seen |= {"mean": float(picture.mean()), "contrast": float(picture.std())}
    world.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1])
