"""Asking another process, for the checks that compare it with this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Literal

from rbench.testing.checks import CheckFailed

#: Longest wait (s) for the other process.
_PATIENCE = 300


def said_elsewhere(what: Literal["print_signature", "print_facts"], recipe: Mapping[str, Any]) -> str:
    """The last line that a function of `another_process` prints there, where sets have another order.

    Raises:
        CheckFailed: it could not say anything.
    """
    environ = os.environ | {"PYTHONHASHSEED": "271", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"from rbench.testing.another_process import {what}; {what}()"],
            input=json.dumps(recipe),
            env=environ,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CheckFailed(
            f"another process did not finish within {_PATIENCE} s",
            "make it start faster, and end the threads and processes it starts",
        ) from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise CheckFailed(
            f"another process could not do it: {last}",
            "import what it needs in its own modules; rely on nothing that another module did before",
        )
    return done.stdout.strip().splitlines()[-1]
