"""A phase that another process can read, also after the one that wrote it has died."""

from __future__ import annotations

import mmap
import os
import sys
import tempfile

from rbench.running.phases import Phase, PhaseMarker


class SharedPhase(PhaseMarker):
    """A phase in a page of memory behind a file descriptor; entering one costs a byte, no message."""

    def __init__(self, descriptor: int) -> None:
        self._page = mmap.mmap(descriptor, mmap.PAGESIZE)
        super().__init__()

    @property
    def now(self) -> Phase:
        return Phase(self._page[0])

    @now.setter
    def now(self, phase: Phase) -> None:
        self._page[0] = phase

    def close(self) -> None:
        """Let go of the page."""
        self._page.close()


def page_descriptor() -> int:
    """A descriptor of a page that has no name and goes with its last user."""
    if sys.platform == "linux":
        # In memory: writing to a page of a file would be fatal once its disk is full.
        descriptor = os.memfd_create("rbench-phase")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, mmap.PAGESIZE)
    return descriptor
