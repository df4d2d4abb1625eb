"""Waiting together: how often and how many at once the workers of one machine ask an endpoint.

Workers share a few small files in the folder for temporary files, named by endpoint, so that several runs share them
too: a server counts requests by key and not by run. Locks belong to the operating system and end with their holder,
however it ends. Where there are no such locks (Windows), every worker waits for itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

if sys.platform != "win32":
    import fcntl

#: A wish to wait for longer (s) is of a clock that has been set back since. More than any option allows.
_LONGEST_HOLD = 900.0
_POLL = 0.02


class Pace:
    """When the next request may be sent."""

    def __init__(self, endpoint: str, per_minute: float | None = None, concurrency: int | None = None) -> None:
        self._name = hashlib.sha256(endpoint.encode()).hexdigest()[:16]
        self._interval = None if per_minute is None else 60.0 / per_minute
        self._concurrency = concurrency
        self._own = {"hold": 0.0, "next": 0.0}

    def hold(self, seconds: float) -> None:
        """Have all workers send nothing for so long."""
        until = time.time() + seconds
        with self._moment("hold") as moment:
            moment[0] = max(until, moment[0] if moment[0] < time.time() + _LONGEST_HOLD else 0.0)

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, and keep it while the block runs."""
        with self._slot():
            self._wait_for_rate()
            while (rest := self._held()) > 0:
                time.sleep(rest)
            yield

    @cached_property
    def _folder(self) -> Path | None:
        """Made when something is to be shared: most runs leave nothing there."""
        return shared_folder() if sys.platform != "win32" else None

    def _held(self) -> float:
        if sys.platform != "win32" and not (_place() / f"{self._name}.hold").exists() and not self._own["hold"]:
            return 0.0
        with self._moment("hold") as moment:
            rest = moment[0] - time.time()
            return rest if rest < _LONGEST_HOLD else 0.0

    def _wait_for_rate(self) -> None:
        if self._interval is None:
            return
        now = time.time()
        with self._moment("next") as moment:
            mine = moment[0] if now < moment[0] < now + _LONGEST_HOLD else now
            moment[0] = mine + self._interval
        time.sleep(max(0.0, mine - now))

    @contextlib.contextmanager
    def _slot(self) -> Iterator[None]:
        """One of the places for requests under way."""
        if self._concurrency is None or self._folder is None:
            yield
            return
        descriptors = [self._open(f"slot{number}") for number in range(self._concurrency)]
        try:
            while not any(_try_lock(descriptor) for descriptor in descriptors):
                time.sleep(_POLL)
            yield
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    @contextlib.contextmanager
    def _moment(self, kind: str) -> Iterator[list[float]]:
        """A point in time (s since 1970) that workers share, locked; what stands in the list is written back."""
        if self._folder is None:
            moment = [self._own[kind]]
            yield moment
            self._own[kind] = moment[0]
            return
        descriptor = self._open(kind)
        try:
            _lock(descriptor)
            before = os.pread(descriptor, 64, 0)
            try:
                moment = [float(before)]
            except ValueError:
                moment = [0.0]
            read = moment[0]
            yield moment
            if moment[0] != read:
                # Always as long, so that nothing of an older one stays behind it.
                os.pwrite(descriptor, f"{moment[0]:020.6f}".encode(), 0)
        finally:
            os.close(descriptor)

    def _path(self, kind: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{self._name}.{kind}"

    def _open(self, kind: str) -> int:
        return os.open(self._path(kind), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def shared_folder() -> Path | None:
    """A folder of this user's own below the one for temporary files, or None when there can be none."""
    folder = _place()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077
    return folder if ours else None


def _place() -> Path:
    return Path(tempfile.gettempdir()) / f"rbench-pace-{os.getuid()}"


def _lock(descriptor: int) -> None:
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _try_lock(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
