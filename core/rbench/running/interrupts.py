"""Ctrl-C, SIGTERM and SIGHUP: the first one ends the run, and what follows at once does not disturb that."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Seconds after an interrupt in which further ones are taken for the same: ending takes about as long at most.
_SAME = 3.0

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

Handler = Callable[[int, FrameType | None], Any]


class _FirstOnly:
    """Passes a signal on to the handler that was there before, unless one has just been passed on."""

    def __init__(self, before: dict[int, Handler]) -> None:
        self.before = before
        self.last: float | None = None

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.last is not None and now - self.last < _SAME:
            return
        self.last = now
        self.before[signum](signum, frame)


@contextmanager
def first_interrupt_only() -> Iterator[None]:
    """Let one SIGINT, SIGTERM or SIGHUP through; hold more of them back for three seconds.

    People press Ctrl-C twice, and a job system may send SIGTERM behind SIGINT: what ends the run, and writes down
    that it was interrupted, must not be interrupted itself. After an interrupt this stays in force when the block is
    left, because ending goes on behind it. Signals that Python code does not handle, and threads that may not, are
    left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Handler] = {}
    for each in _SIGNALS:
        handler = signal.getsignal(each)
        if isinstance(handler, _FirstOnly):  # of a run that was interrupted
            handler = handler.before[each]
        if callable(handler):
            before[each] = handler
    ours = _FirstOnly(before)
    for number in before:
        signal.signal(number, ours)
    try:
        yield
    finally:
        if ours.last is None:
            for number, handler in before.items():
                signal.signal(number, handler)
