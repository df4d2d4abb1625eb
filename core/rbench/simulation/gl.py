"""The choice of an OpenGL backend, and contexts made with it.

MuJoCo draws through EGL, OSMesa or (with a display) GLFW, named by the environment variable `MUJOCO_GL`. OSMesa comes
from the system or from a Python wheel (`osmesa_wheel`), named by `RBENCH_OSMESA`. `choose_gl` finds a backend that
works here, `use_gl` settles it for this process and every worker it starts. Nothing happens at import: a machine
without OpenGL can do everything but render.
"""

from __future__ import annotations

import importlib
import os
import platform
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rbench.errors import StartError, did_you_mean, one_line
from rbench.simulation import osmesa_wheel
from rbench.simulation.child_process import module_answer

VARIABLE = "MUJOCO_GL"
#: Where OSMesa comes from: `system` or `wheel`. Empty: from the system if it works there.
OSMESA_VARIABLE = "RBENCH_OSMESA"
#: What `choose_gl` answers where nothing can render.
DISABLED = "disabled"
#: MuJoCo's `osmesa`, with the library of the wheel.
OSMESA_WHEEL = "osmesa-wheel"

_OFF = ("disable", "disabled", "off", "false", "0")
_ANY = ("", "enable", "enabled", "on", "true", "1")
_KNOWN = ("egl", "osmesa", OSMESA_WHEEL, "glfw", "glx", "wgl", "cgl")
#: One of them names the display that `glfw` draws on.
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
#: Tried in this order: what uses a GPU first, then what belongs to the system.
CANDIDATES = ("egl", "osmesa", OSMESA_WHEEL)
#: What PyOpenGL looks for; it goes on with None where that is missing.
_LIBRARIES = {"egl": "libEGL.so.1 or libGL.so.1", "osmesa": "libOSMesa.so"}
#: A driver that never answers (seen with several contexts on one GPU) counts as one that does not work.
_PROBE_SECONDS = 60


@dataclass(frozen=True)
class GlProbe:
    """What came of a first picture with one backend: who drew it, or the problem that kept it from being drawn."""

    problem: str | None = None
    vendor: str = ""
    renderer: str = ""
    version: str = ""


def choose_gl(environ: Mapping[str, str] | None = None) -> str:
    """The backend to render with: the user's `MUJOCO_GL`, else the first that works here.

    EGL, the system's OSMesa and the wheel's OSMesa are tried in child processes, once in the life of this one. Sets
    nothing.

    Returns:
        A word for `use_gl`: a value of `MUJOCO_GL`, or `osmesa-wheel`; `disabled` when the user asked for that or
        nothing works.

    Raises:
        StartError: `MUJOCO_GL` or `RBENCH_OSMESA` holds a word that means nothing, or a backend that wants a display
            where there is none.
    """
    environ = os.environ if environ is None else environ
    asked = environ.get(VARIABLE, "").strip().lower()
    if asked in _OFF:
        return DISABLED
    if asked == "osmesa":
        return _choose_osmesa(environ.get(OSMESA_VARIABLE, "").strip().lower())
    if asked in ("glfw", "glx") and platform.system() == "Linux" and not any(map(environ.get, DISPLAYS)):
        raise StartError(
            f"{VARIABLE}={asked} draws on a display, and there is none here ({' and '.join(DISPLAYS)} are not set)."
            f" {how_to_install()} Then unset {VARIABLE} to have a backend chosen, which needs no display."
        )
    if asked in _KNOWN:
        return asked
    if asked not in _ANY:
        hint = did_you_mean(asked, ("egl", "osmesa", "glfw", DISABLED))
        raise StartError(f"{VARIABLE}={asked!r} names no OpenGL backend.{hint} Unset {VARIABLE} to have one chosen.")
    if platform.system() != "Linux":
        return "cgl" if platform.system() == "Darwin" else "wgl"
    return next((backend for backend in CANDIDATES if gl_problem(backend) is None), DISABLED)


def _choose_osmesa(source: str) -> str:
    sources = {"system": "osmesa", "wheel": OSMESA_WHEEL}
    if source in sources:
        return sources[source]
    if source:
        raise StartError(
            f"{OSMESA_VARIABLE}={source!r} says nothing about OSMesa.{did_you_mean(source, sources)}"
            f" Unset {OSMESA_VARIABLE} to have one chosen."
        )
    if osmesa_wheel.library_folder() is None or gl_problem("osmesa") is None:
        return "osmesa"
    return OSMESA_WHEEL


def gl_problem(backend: str) -> str | None:
    """Why a backend (`egl`, `osmesa` or `osmesa-wheel`) cannot render on this machine, or None when it can."""
    return probe_gl(backend).problem


@cache
def probe_gl(backend: str) -> GlProbe:
    """A first picture with a backend, in a child process: a driver that crashes or hangs harms nobody."""
    if backend == OSMESA_WHEEL and osmesa_wheel.library_folder() is None:
        return GlProbe(f"{osmesa_wheel.DISTRIBUTION} is not installed")
    drawn_by, problem = module_answer(
        "rbench.simulation.gl_probe", backend, environ=gl_variables(backend), seconds=_PROBE_SECONDS
    )
    return GlProbe(problem) if drawn_by is None else GlProbe(**drawn_by)


def gl_variables(backend: str) -> dict[str, str]:
    """The environment variables that make a process, and all that it starts, render with a backend."""
    if backend == OSMESA_WHEEL:
        return {VARIABLE: "osmesa", OSMESA_VARIABLE: "wheel"}
    if backend == "osmesa":
        return {VARIABLE: "osmesa", OSMESA_VARIABLE: "system"}
    return {VARIABLE: backend}


def use_gl(backend: str) -> None:
    """Render with a backend from now on, in this process and in every process it starts.

    Call it before the first picture with what `choose_gl` returned: a `MUJOCO_GL` that the user set survives.
    Imports MuJoCo, which loads the backend's library.

    Raises:
        StartError: MuJoCo cannot be imported with this backend; says what to install.
    """
    os.environ.update(gl_variables(backend))
    # Software GL starts a thread a core by default; with one worker a core that only costs time.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    try:
        if backend == OSMESA_WHEEL:
            osmesa_wheel.load_libraries()
            osmesa_wheel.activate()
        importlib.import_module("mujoco")
    except StartError:
        raise
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
    module_name = {"glx": "glfw", "wgl": "glfw", OSMESA_WHEEL: "osmesa"}.get(backend, backend)
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

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # glfw warns of what is an error here
            context = Context(1, 1)
        if module_name == "glfw" and not context._context:
            raise StartError(
                f"OpenGL backend {backend!r} opens no window here: its display does not answer. {how_to_install()}"
                f" Or unset {VARIABLE} to have a backend chosen, which needs no display."
            )
        return context
    except StartError:
        raise
    except Exception as problem:  # drivers and PyOpenGL raise whatever they like
        raise StartError(_failure(backend, problem)) from problem


def how_to_install() -> str:
    """The sentence on how to get OpenGL here: with root, and where there is a wheel without."""
    if platform.system() != "Linux":
        return "Update the graphics driver: OpenGL is part of it."
    text = "Install software rendering with `apt-get install libegl1 libgl1` or `apt-get install libosmesa6`"
    if osmesa_wheel.is_offered() and osmesa_wheel.library_folder() is None:
        text += f", or without root `{osmesa_wheel.HOW_TO_INSTALL}`"
    return f"{text}."


def failure_reason(backend: str, problem: BaseException) -> str:
    """Why a backend failed, in a few words: what PyOpenGL raises says little to anybody."""
    if isinstance(problem, AttributeError) and "'NoneType'" in str(problem) and backend in _LIBRARIES:
        return f"{_LIBRARIES[backend]} cannot be loaded"
    return one_line(problem)


def _failure(backend: str, problem: Exception) -> str:
    return (
        f"OpenGL backend {backend!r} does not work here ({failure_reason(backend, problem)}). {how_to_install()}"
        f" Or unset {VARIABLE} to have a backend chosen."
    )


def _disabled_message() -> str:
    # A worker cannot tell whether the user or `use_gl` switched rendering off, but what would work here says it.
    setting = os.environ.get(VARIABLE, "").strip()
    if platform.system() != "Linux" or any(gl_problem(backend) is None for backend in CANDIDATES):
        return f"rendering is off: {VARIABLE}={setting}. Unset {VARIABLE} to have a backend chosen."
    reasons = "; ".join(f"{backend}: {gl_problem(backend)}" for backend in CANDIDATES)
    return f"no OpenGL backend works here ({reasons}). {how_to_install()}"
