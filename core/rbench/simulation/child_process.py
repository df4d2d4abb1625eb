"""Trying out in a child process what may crash or hang: drivers, and libraries built for another machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


def module_answer(
    module: str, *arguments: str, environ: Mapping[str, str], seconds: float
) -> tuple[dict[str, Any] | None, str]:
    """Run a module of rbench and return what it prints as its last line, a JSON object.

    Args:
        environ: variables to set besides those of this process.
        seconds: how long it may take.

    Returns:
        The object and an empty string; or None and, in a few words, why there is none.
    """
    # PyOpenGL's choice in this process is not the child's; -P: nothing in the working directory is imported by chance.
    inherited = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", module, *arguments],
            env=inherited | dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {seconds} s"
    if done.returncode < 0:
        return None, f"killed by signal {-done.returncode}"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    if done.returncode == 0 and lines:
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer, ""
    return None, lines[-1] if lines else f"ended with exit status {done.returncode}"
