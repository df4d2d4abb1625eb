"""The MuJoCo world: compile, cameras, rendering, control."""

from __future__ import annotations

import os

# Inherited from a process that chose the wheel: MuJoCo cannot even be imported if PyOpenGL does not know of it.
if (os.environ.get("MUJOCO_GL"), os.environ.get("RBENCH_OSMESA")) == ("osmesa", "wheel"):
    from rbench.simulation.osmesa_wheel import activate

    activate()
