"""An end to a check in which a plugin never comes back."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from os import _exit  # that of the module stands still while plugin code runs (rbench.plugins.staying)
from typing import TextIO

from rbench.cli.patience import after
from rbench.testing.checks import Check, Result


@contextlib.contextmanager
def ended_after(seconds: float, check: Check, say: Callable[[Result, TextIO], None]) -> Iterator[None]:
    """End this process with status 1 if the check inside takes longer, and say that it failed.

    Nothing else ends a plugin's call that runs in this process. What it holds is unknown, so no other check follows.

    Args:
        seconds: 0: any time.
        say: writes the check's result to the standard output that there is now: inside, it may lead elsewhere.
    """
    if not seconds:
        yield
        return
    waiting = threading.get_ident()
    sys.stdout.flush()
    with os.fdopen(_duplicate_of_stdout(), "w", encoding="utf-8") as stdout:

        def give_up() -> None:
            place = _place(waiting)
            result = Result(
                check.name,
                check.statement,
                "failed",
                f"it had not come back after {seconds:g} s{place}; no later check was run",
                "give whatever waits (a server, a lock, a process) a time-out of its own; --check-limit waits longer",
                seconds=seconds,
            )
            with contextlib.suppress(Exception):  # a closed pipe: the status is said in any case
                say(result, stdout)
                stdout.flush()
            _exit(1)

        with after(seconds, give_up):
            yield


def _duplicate_of_stdout() -> int:
    try:
        return os.dup(1)
    except OSError:  # it is closed: there is nobody to tell
        return os.open(os.devnull, os.O_WRONLY)


def _place(thread: int) -> str:
    """Where a thread is, in words; empty when it has ended."""
    frame = sys._current_frames().get(thread)
    return "" if frame is None else f", waiting at {frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"
