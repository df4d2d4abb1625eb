"""matplotlib, loaded when it is needed, and without files in anybody's home."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from types import ModuleType

from rbench.errors import StartError

_FOLDER_VARIABLE = "MPLCONFIGDIR"

#: Removed with what is in it when the process ends.
_folder: tempfile.TemporaryDirectory[str] | None = None


def load_matplotlib() -> ModuleType:
    """The library. Its list of fonts, which it would keep below the user's home, goes to a folder of this process.

    A user who set MPLCONFIGDIR, or imported matplotlib before, has chosen already.

    Raises:
        StartError: it is not installed.
    """
    global _folder
    try:
        if "matplotlib.font_manager" in sys.modules or os.environ.get(_FOLDER_VARIABLE):
            return importlib.import_module("matplotlib")
        _folder = tempfile.TemporaryDirectory(prefix="rbench-matplotlib-")
        os.environ[_FOLDER_VARIABLE] = _folder.name
        try:
            # Both look where their folder is once, while they are imported.
            library = importlib.import_module("matplotlib")
            importlib.import_module("matplotlib.font_manager")
        finally:
            os.environ.pop(_FOLDER_VARIABLE, None)
        return library
    except ImportError as problem:
        raise StartError(f"figures need matplotlib ({problem}). Install it: pip install 'rbench[report]'") from None
