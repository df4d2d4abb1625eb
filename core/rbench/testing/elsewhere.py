"""Asking another process: for the checks that compare it with this one, and before anything is made in this one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Literal

from rbench.testing.checks import CheckFailed

#: Longest wait (s) for the other process.
_PATIENCE = 300


def problem_elsewhere(recipe: Mapping[str, Any], limit: float) -> str | None:
    """Why a subject must not be made in this process: there it hung, or ended the process. None: it did neither.

    Whatever it raises there is not said: it will raise that here too, where a check says it better.

    Args:
        recipe: of the subject.
        limit: seconds; 0: any time.
    """
    process = subprocess.Popen(
        _command("try_to_make"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=_environ(),
        start_new_session=True,  # so that it can be ended with all that was started there
    )
    try:
        process.communicate(json.dumps(recipe).encode(), timeout=limit or None)
    except subprocess.TimeoutExpired:
        return f"it was not made and closed within {limit:g} s"
    finally:
        _end(process)
    return None if process.returncode == 0 else f"it ended the process ({_ending(process.returncode)})"


def said_elsewhere(what: Literal["print_signature", "print_facts"], recipe: Mapping[str, Any]) -> str:
    """The last line that a function of `another_process` prints there, where sets have another order.

    Raises:
        CheckFailed: it could not say anything.
    """
    try:
        done = subprocess.run(
            _command(what),
            input=json.dumps(recipe),
            env=_environ() | {"PYTHONHASHSEED": "271"},
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


def _command(what: str) -> list[str]:
    return [sys.executable, "-c", f"from rbench.testing.another_process import {what}; {what}()"]


def _environ() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _end(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _ending(code: int) -> str:
    return signal.Signals(-code).name if -code in set(signal.Signals) else f"exit status {code}"
