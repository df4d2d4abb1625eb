"""The writer's lock: a run directory has one writer, and others can tell whether it lives.

An advisory lock that the operating system drops when its holder ends, however it ends. So a run that
was killed does not look like one that is still going. Where such locks do not exist (Windows, some
network file systems) nothing is locked and nobody can tell. The file holds the process id of its last holder.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

if sys.platform != "win32":
    import fcntl

#: A reader that asks whether the writer lives holds the lock for an instant; a writer waits that out.
_ATTEMPTS, _PAUSE = 10, 0.05


class WriterLock:
    """An exclusive lock on a file, held until `release` or the end of the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False when another holder keeps it.

        Raises:
            OSError: the file cannot be made.
        """
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        for _ in range(_ATTEMPTS):
            held = _try_lock(descriptor, exclusive=True)
            if held is not False:
                self._descriptor = descriptor
                with contextlib.suppress(OSError):  # a full disk: the lock holds, only its holder has no name
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"{os.getpid()}\n".encode())
                return True
            time.sleep(_PAUSE)
        os.close(descriptor)
        return False

    def release(self) -> None:
        """Give the lock back; doing so twice is fine."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_held(path: Path) -> bool | None:
    """Whether somebody holds the lock; None when this file system cannot tell. Writes nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        free = _try_lock(descriptor, exclusive=False)
    finally:
        os.close(descriptor)
    return None if free is None else not free


def holder(path: Path) -> int | None:
    """The process that holds the lock, or None when nobody does or this cannot be told."""
    if not is_held(path):
        return None
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _try_lock(descriptor: int, *, exclusive: bool) -> bool | None:
    """True: locked. False: somebody else holds it. None: not possible here."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
