"""A worker's connection to the run, and its standard streams, kept where agent code does not tread on them."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import signal
import socket
import sys
from collections.abc import Callable

from rbench.running.executors.messages import Message, Unpacker, packed

#: Descriptors from here on are ours. Code that closes a few low ones, on the guess that they are left over, misses
#: them, and what it opens afterwards does not take their place.
_OURS = 900


class CutOff(Exception):
    """Agent code closed the connection of its process to the run."""


class Connection:
    """The socket that came as stdin, moved away: agent code finds an empty stdin, and its stdout is stderr."""

    def __init__(self) -> None:
        self._socket = socket.socket(fileno=_moved(0))
        self._itself = _identity(self._socket.fileno())
        self._nothing = _moved(os.open(os.devnull, os.O_RDONLY), close=True)
        os.dup2(self._nothing, 0)
        self._stderr = _moved(2)
        self._standard = [_identity(number) for number in range(3)]
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)

    def send(self, message: Message, blob: bytes = b"") -> None:
        """Send a message to the run.

        Raises:
            CutOff: the connection is closed on this side, or something else has its number.
            BrokenPipeError: the run is gone.
        """
        self.forward(packed(message, blob))

    def forward(self, data: bytes) -> None:
        """Send a message that is packed already. Raises as `send` does."""
        if _identity(self._socket.fileno()) != self._itself:
            raise CutOff
        self._socket.sendall(data)

    def listen(self, deliver: Callable[[Message], None], cut_off: Callable[[], None]) -> None:
        """Receive, in a thread of its own, so that the end of the run is noticed while an episode runs.

        Does not return: when the run is gone, this process and those that agent code started in its group end.

        Args:
            deliver: called with every message.
            cut_off: called when agent code closed the connection; must end the process.
        """
        unpacker = Unpacker()
        while True:
            try:
                data = self._socket.recv(1 << 16)
            except OSError:
                if _identity(self._socket.fileno()) != self._itself:
                    cut_off()
                data = b""
            if not data:
                if os.getpgrp() == os.getpid():
                    os.killpg(0, signal.SIGKILL)
                os._exit(1)
            for message, _ in unpacker.feed(data):
                deliver(message)

    def mended(self) -> bool:
        """Put the standard streams back where agent code closed or replaced them, and say whether it had."""
        changed = [number for number in range(3) if _identity(number) != self._standard[number]]
        for number in changed:
            with contextlib.suppress(OSError):
                os.dup2(self._nothing if number == 0 else self._stderr, number)
        return bool(changed)


def _moved(descriptor: int, close: bool = False) -> int:
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _OURS)
    except OSError:  # so many are not allowed
        moved = os.dup(descriptor)
    if close:
        os.close(descriptor)
    return moved


def _identity(descriptor: int) -> tuple[int, int] | None:
    """What a descriptor leads to; None when it is closed."""
    try:
        facts = os.fstat(descriptor)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
