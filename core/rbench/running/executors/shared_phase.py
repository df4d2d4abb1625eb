"""A phase that another process can read, also after the one that wrote it has died."""

from __future__ import annotations

import mmap
import os
import sys
import tempfile

from rbench.running.phases import Phase, PhaseMarker

_PHASE, _ENTRIES, _ATTEMPTS = 0, 1, 2


class SharedPhase(PhaseMarker):
    """A phase in a page of memory behind a file descriptor; entering one costs no message.

    It counts, too: whoever watches sees that something has changed although the phase is the same again.
    """

    def __init__(self, descriptor: int) -> None:
        self._page = mmap.mmap(descriptor, mmap.PAGESIZE)
        self._words = memoryview(self._page).cast("Q")
        super().__init__()

    @property
    def now(self) -> Phase:
        return Phase(self._words[_PHASE])

    @now.setter
    def now(self, phase: Phase) -> None:
        self._words[_PHASE] = phase
        self._words[_ENTRIES] += 1

    @property
    def entries(self) -> int:
        """How often a phase was entered."""
        return self._words[_ENTRIES]

    @property
    def attempts(self) -> int:
        """How many attempts at episodes have begun."""
        return self._words[_ATTEMPTS]

    def begin(self) -> None:
        self._words[_ATTEMPTS] += 1

    def close(self) -> None:
        """Let go of the page."""
        self._words.release()
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
