"""Checks of simulation and pictures. Drivers may crash or hang, so both are tried in child processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rbench.doctor.check import Check
from rbench.doctor.first_view import CAMERA, SCENE, SIZE
from rbench.errors import StartError
from rbench.simulation import gl
from rbench.simulation.child_process import module_answer

#: A cold disk takes its time over meshes and libraries.
SECONDS = 120
#: Below these a picture of the built-in scene (mean 63, standard deviation 40 of 255) shows nothing.
DARK, FLAT = 10, 5


def check_opengl(environ: Mapping[str, str]) -> tuple[Check, str]:
    """The backend that rbench renders with, and what draws; second the backend, for `check_pictures`."""
    asked = environ.get(gl.VARIABLE, "").strip()
    try:
        backend = gl.choose_gl(environ)
    except StartError as problem:
        return Check("opengl", "problem", str(problem), f"unset {gl.VARIABLE} {gl.OSMESA_VARIABLE}"), gl.DISABLED
    if backend == gl.DISABLED and asked:
        detail = f"rendering is off: {gl.VARIABLE}={asked}; agents that look at images cannot run"
        return Check("opengl", "warning", detail, f"unset {gl.VARIABLE}"), backend
    if backend == gl.DISABLED:
        reasons = "; ".join(f"{name}: {gl.gl_problem(name)}" for name in gl.CANDIDATES)
        return Check("opengl", "problem", f"no backend works ({reasons})", gl.how_to_install()), backend
    if backend not in gl.CANDIDATES:
        return Check("opengl", "ok", f"{backend}, {_why(asked)}; tried with the picture below"), backend
    probe = gl.probe_gl(backend)
    if probe.problem is None:
        return Check("opengl", "ok", f"{backend}, {_why(asked)}: {probe.vendor} {probe.renderer}"), backend
    others = [name for name in gl.CANDIDATES if name != backend and gl.gl_problem(name) is None]
    remedy = f"unset {gl.VARIABLE}: {others[0]} works here" if others else gl.how_to_install()
    return Check("opengl", "problem", f"{gl.VARIABLE}={asked} does not work: {probe.problem}", remedy), gl.DISABLED


def _why(asked: str) -> str:
    return f"chosen by {gl.VARIABLE}={asked}" if asked else "the first that works"


def check_pictures(backend: str) -> Iterator[Check]:
    """The built-in scene, built and drawn."""
    seen, problem = _first_view(backend)
    if seen is None and backend != gl.DISABLED:
        remedy = f"unset {gl.VARIABLE}" if backend not in gl.CANDIDATES else gl.how_to_install()
        yield Check("pictures", "problem", f"{backend}: {problem}", remedy)
        # The simulation may be well; only the drawing is not.
        seen, problem = _first_view(gl.DISABLED)
        backend = gl.DISABLED
    if seen is None:
        remedy = "python3 -m pip install --force-reinstall mujoco mujoco-core gymnasium-robotics trimesh"
        yield Check("simulation", "problem", f"scene {SCENE} cannot be built: {problem}", remedy)
        return
    yield Check("simulation", "ok", f"scene {SCENE} built in {seen['build_seconds']:.1f} s")
    if backend == gl.DISABLED:
        return
    detail = f"{SIZE} x {SIZE} of camera {CAMERA}, mean {seen['mean']:.0f} of 255"
    if seen["mean"] < DARK or seen["contrast"] < FLAT:
        yield Check(
            "pictures",
            "problem",
            f"{detail}: there is nothing on it, so {backend} draws wrong",
            f"choose another backend: {gl.VARIABLE}={'osmesa' if backend == 'egl' else 'egl'} rbench ...",
        )
        return
    yield Check("pictures", "ok", f"{detail}, {seen['frame_milliseconds']:.0f} ms each (profile standard)")


def _first_view(backend: str) -> tuple[dict[str, Any] | None, str]:
    environ = gl.gl_variables(backend)
    return module_answer("rbench.doctor.first_view", backend, environ=environ, seconds=SECONDS)
