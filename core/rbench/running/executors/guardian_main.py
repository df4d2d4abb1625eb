"""Ends what a run started, once the run is gone: the script of the guardian process.

Stdlib only, and little of it: it runs in an interpreter of its own that should be small and there at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

#: The environment variable by which everything that a worker starts is found.
MARK = "RBENCH_WORKER"

#: Looks for processes that were starting others at the time of the look before.
_ROUNDS = 20


def marked_processes(mark: str) -> list[int]:
    """Processes, other than this one, whose environment carries the mark, or one that begins with it and a dot."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):  # none where there is no /proc
        try:
            variables = file.read_bytes().split(b"\0")
        except OSError:  # it has ended, or is somebody else's
            continue
        if any(each == wanted or each.startswith(wanted + b".") for each in variables):
            found.append(int(file.parent.name))
    return [process for process in found if process != os.getpid()]


def end_marked(mark: str) -> None:
    """Kill every process that carries the mark, also those in a process group or session of their own."""
    for _ in range(_ROUNDS):
        found = marked_processes(mark)
        if not found:
            return
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)


def end_group(group: int) -> None:
    """Kill a process group, if there is one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def main(mark: str) -> None:
    """Keep the groups that stdin tells (`+1234`, `-1234`, one a line); when it ends, kill what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # these are the run's to act on
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        change = groups.add if line.startswith(b"+") else groups.discard
        change(int(line[1:]))
    for group in groups:
        end_group(group)
    end_marked(mark)


if __name__ == "__main__":
    main(sys.argv[1])
