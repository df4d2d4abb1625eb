"""What the system says of a process and of the machine. Where there is no /proc, nothing is known (0 or None)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import resource

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE") if sys.platform != "win32" else 4096

#: Where the limit of a container stands: control groups 2 and 1.
_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def private_memory(process: int) -> int:
    """Bytes of memory that a process and its descendants do not share with others; mapped files do not count."""
    try:
        _, resident, shared, *_ = (_PROC / str(process) / "statm").read_text().split()
    except (OSError, ValueError):
        return 0
    own = (int(resident) - int(shared)) * _PAGE
    return own + sum(private_memory(child) for child in _children(process))


def peak_memory() -> int | None:
    """Bytes that this process has had at most; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    try:
        # Not ru_maxrss: there a process on Linux inherits what its parent had when it was started.
        for line in (_PROC / "self" / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _children(process: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in (_PROC / str(process) / "task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    except OSError:  # it, or one of its threads, has just ended
        pass
    return found


def out_of_memory_kills() -> int:
    """How many processes the system has ended for lack of memory since it started, its containers' included."""
    try:
        for line in (_PROC / "vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return 0


def open_files(process: int) -> int:
    """How many file descriptors a process has open."""
    try:
        return sum(1 for _ in (_PROC / str(process) / "fd").iterdir())
    except OSError:
        return 0


def most_open_files(process: int) -> int:
    """How many a process may have open."""
    if sys.platform != "linux":
        return 0
    try:
        return resource.prlimit(process, resource.RLIMIT_NOFILE)[0]
    except OSError:
        return 0


def machine_memory(container: tuple[Path, ...] = _CONTAINER) -> int | None:
    """Bytes of memory of this machine, or of its container if that has less; None when it is not known."""
    if sys.platform == "win32":
        return None
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * _PAGE
    except (ValueError, OSError):
        return None
    for file in container:
        try:
            whole = min(whole, int(file.read_text()))
        except (OSError, ValueError):  # there is none, or it says "max"
            continue
    return whole if whole > 0 else None
