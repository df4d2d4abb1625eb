"""OSMesa out of a Python wheel: software OpenGL for machines without it, and without root to install it.

The distribution `lavavu-osmesa` carries libOSMesa and the LLVM it needs beside its own package. Here these libraries
are loaded by path into the running process and handed to PyOpenGL, which MuJoCo draws through; nothing of that package
is imported, and neither `LD_LIBRARY_PATH` nor a second start of Python is needed.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
import sys
from functools import cache
from pathlib import Path

from rbench.errors import StartError

DISTRIBUTION = "lavavu-osmesa"
#: One version, because its private library names are used; the extra `osmesa` and requirements-gl.txt name it too.
REQUIREMENT = f"{DISTRIBUTION}==1.9.10"
#: Without its dependencies: they are those of a viewer (a notebook server among them), and the libraries need none.
HOW_TO_INSTALL = f"python3 -m pip install --no-deps {REQUIREMENT}"

_FOLDER = "lavavu_osmesa.libs"


def is_offered() -> bool:
    """Whether there is a wheel for this machine and Python."""
    return platform.system() == "Linux" and platform.machine() == "x86_64" and sys.version_info < (3, 14)


def library_folder() -> Path | None:
    """The folder of the wheel's libraries, or None when it is not installed here."""
    try:
        folder = Path(str(importlib.metadata.distribution(DISTRIBUTION).locate_file(_FOLDER)))
    except importlib.metadata.PackageNotFoundError:
        return None
    return folder if any(folder.glob("libOSMesa*")) else None


@cache
def load_libraries() -> ctypes.CDLL:
    """Load libOSMesa and what it needs into this process.

    Raises:
        StartError: the wheel is not installed, or a library of it cannot be loaded.
    """
    folder = library_folder()
    if folder is None:
        raise StartError(f"{DISTRIBUTION} is not installed; install it with `{HOW_TO_INSTALL}`")
    osmesa: ctypes.CDLL | None = None
    waiting = sorted(folder.glob("*.so*"))
    # A library loads once those it needs are there, so each round loads at least one. The order is the wheel's affair.
    while waiting:
        failed: dict[Path, OSError] = {}
        for path in waiting:
            is_osmesa = path.name.startswith("libOSMesa")
            try:
                # MuJoCo looks for GL functions among the global symbols of the process.
                library = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL if is_osmesa else ctypes.RTLD_LOCAL)
            except OSError as problem:
                failed[path] = problem
            else:
                osmesa = library if is_osmesa else osmesa
        if len(failed) == len(waiting):
            reasons = "; ".join(str(problem) for problem in failed.values())
            raise StartError(f"{DISTRIBUTION}: {reasons}. Install it again with `{HOW_TO_INSTALL} --force-reinstall`")
        waiting = list(failed)
    assert osmesa is not None, "library_folder() saw libOSMesa"
    return osmesa


def activate() -> None:
    """Have PyOpenGL use the wheel's libOSMesa as its platform `osmesa`; it loads the libraries when it needs them.

    Call it before MuJoCo (or anything else) loads PyOpenGL's platform.
    """
    # PyOpenGL's own way to bring a platform: it imports the class under this name when it is first used.
    from OpenGL.plugins import PlatformPlugin

    PlatformPlugin.by_name("osmesa").import_path = "rbench.simulation.osmesa_platform.WheelPlatform"
