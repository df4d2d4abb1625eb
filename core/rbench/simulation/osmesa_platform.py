"""PyOpenGL's platform for the OSMesa of the wheel. PyOpenGL imports this module; see `osmesa_wheel.activate`."""

from __future__ import annotations

import ctypes

from OpenGL.platform.osmesa import OSMesaPlatform

from rbench.simulation.osmesa_wheel import load_libraries


class WheelPlatform(OSMesaPlatform):  # type: ignore[misc]  # PyOpenGL has no types
    """OSMesa from the wheel's library instead of one that the system's loader finds."""

    @property
    def GL(self) -> ctypes.CDLL:
        """The library that holds both the GL functions and those of OSMesa."""
        return load_libraries()
