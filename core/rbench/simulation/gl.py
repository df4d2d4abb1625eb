"""The choice of an OpenGL backend, and contexts made with it.

MuJoCo draws through EGL, OSMesa or (with a display) GLFW, named by the environment variable `MUJOCO_GL`.
`choose_gl` finds one that works here, `use_gl` settles it for this process and every worker it starts.
Nothing happens at import: a machine without OpenGL can do everything but render.
"""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from rbench.errors import StartError, did_you_mean

VARIABLE = "MUJOCO_GL"
#: What `choose_gl` answers where nothing can render.
DISABLED = "disabled"

_OFF = ("disable", "disabled", "off", "false", "0")
_ANY = ("", "enable", "enabled", "on", "true", "1")
_KNOWN = ("egl", "osmesa", "glfw", "glx", "wgl", "cgl")
_HOW_TO_INSTALL = (
    "Install OpenGL for software rendering with `apt-get install libegl1 libgl1` or `apt-get install libosmesa6`."
)
#: A driver that never answers (seen with several contexts on one GPU) counts as one that does not work.
_PROBE_SECONDS = 60
_PROBE = """
import importlib, sys
import mujoco
context = importlib.import_module("mujoco." + sys.argv[1]).GLContext(16, 16)
context.make_current()
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><light/></worldbody></mujoco>")
renderer = mujoco.MjrContext(model, 50)
import numpy
mujoco.mjr_readPixels(numpy.empty((16, 16, 3), numpy.uint8), None, mujoco.MjrRect(0, 0, 16, 16), renderer)
renderer.free()
context.free()
"""


def choose_gl(environ: Mapping[str, str] | None = None) -> str:
    """The backend to render with: the user's `MUJOCO_GL`, else the first that works here.

    EGL and then OSMesa are tried in a child process, once in the life of this one. Sets nothing.

    Returns:
        A value for `MUJOCO_GL`; `disabled` when the user asked for that or nothing works.

    Raises:
        StartError: `MUJOCO_GL` holds a word that MuJoCo does not know.
    """
    environ = os.environ if environ is None else environ
    asked = environ.get(VARIABLE, "").strip().lower()
    if asked in _OFF:
        return DISABLED
    if asked in _KNOWN:
        return asked
    if asked not in _ANY:
        hint = did_you_mean(asked, ("egl", "osmesa", "glfw", DISABLED))
        raise StartError(f"{VARIABLE}={asked!r} names no OpenGL backend.{hint} Unset {VARIABLE} to have one chosen.")
    if platform.system() != "Linux":
        return "cgl" if platform.system() == "Darwin" else "wgl"
    return next((backend for backend in ("egl", "osmesa") if gl_problem(backend) is None), DISABLED)


@cache
def gl_problem(backend: str) -> str | None:
    """Why a backend (`egl` or `osmesa`) cannot render on this machine, or None when it can.

    Reads back a picture in a child process, so that a driver that crashes or hangs harms nobody.
    """
    environ = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"} | {VARIABLE: backend}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, backend],
            env=environ,
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no picture within {_PROBE_SECONDS} s"
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or [f"died with exit status {done.returncode}"])[-1]


def use_gl(backend: str) -> None:
    """Render with a backend from now on, in this process and in every process it starts.

    Call it before the first picture with what `choose_gl` returned: a `MUJOCO_GL` that the user set survives.
    Imports MuJoCo, which loads the backend's library.

    Raises:
        StartError: MuJoCo cannot be imported with this backend; says what to install.
    """
    os.environ[VARIABLE] = backend
    # Software GL starts a thread a core by default; with one worker a core that only costs time.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    try:
        importlib.import_module("mujoco")
    except Exception as problem:  # PyOpenGL raises whatever it likes when a library is missing
        raise StartError(_failure(backend, problem)) from problem


_display_process: int | None = None


def make_context() -> Any:
    """A GL context of the chosen backend, not yet current; choose one first if nobody has.

    It belongs to the calling process and thread: make it, use it and free it there.

    Raises:
        StartError: rendering is disabled, or the backend does not work here; says what to install.
    """
    global _display_process
    backend = choose_gl()
    if backend == DISABLED:
        raise StartError(_disabled_message())
    use_gl(backend)
    module_name = {"glx": "glfw", "wgl": "glfw"}.get(backend, backend)
    try:
        module: Any = importlib.import_module(f"mujoco.{module_name}")
        if module_name == "egl" and _display_process != os.getpid():
            # A display that was opened before a fork is dead in the child.
            module.EGL_DISPLAY = None
            _display_process = os.getpid()

        class Context(module.GLContext):  # type: ignore[misc]
            # The owner frees it, in order; at the end of the process a destructor finds its libraries gone.
            def __del__(self) -> None:
                pass

        return Context(1, 1)
    except Exception as problem:  # drivers and PyOpenGL raise whatever they like
        raise StartError(_failure(backend, problem)) from problem


def _failure(backend: str, problem: Exception) -> str:
    reason = " ".join(str(problem).split()) or type(problem).__name__
    return (
        f"OpenGL backend {backend!r} does not work here ({reason}). {_HOW_TO_INSTALL}"
        f" Or unset {VARIABLE} to have a backend chosen."
    )


def _disabled_message() -> str:
    setting = os.environ.get(VARIABLE, "").strip()
    if setting.lower() in _OFF:
        return f"rendering is off: {VARIABLE}={setting}. Unset it to have a backend chosen. {_HOW_TO_INSTALL}"
    reasons = "; ".join(f"{backend}: {gl_problem(backend)}" for backend in ("egl", "osmesa"))
    return f"no OpenGL backend works here ({reasons}). {_HOW_TO_INSTALL}"
