"""What belongs to a whole process, and what agent code may leave changed there."""

from __future__ import annotations

import contextlib
import locale
import os
import signal
import threading
from pathlib import Path

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD", "SIGALRM") if hasattr(signal, name)
)


class Surroundings:
    """Working directory, file mode mask, locale and signal handlers as they are now, to be put back.

    Not the environment variables: libraries keep state of their own there, and nothing of rbench reads them during
    an episode.
    """

    def __init__(self) -> None:
        self._folder = _folder()
        self._umask = _umask()
        self._locale = locale.setlocale(locale.LC_ALL)
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore(self) -> None:
        """Put back what is not as it was, and call off an alarm that was left set."""
        with contextlib.suppress(OSError):  # the folder is gone
            if self._folder is not None and _folder() != self._folder:
                os.chdir(self._folder)
        if _umask() != self._umask:
            os.umask(self._umask)
        if locale.setlocale(locale.LC_ALL) != self._locale:
            locale.setlocale(locale.LC_ALL, self._locale)
        if threading.current_thread() is not threading.main_thread():
            return
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def _folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None


def _umask() -> int:
    # There is no way to read it that does not set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
