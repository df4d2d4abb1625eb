"""What a worker prints: passed on to stderr in whole lines, up to a bound an episode."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time

#: Bytes of an episode that are passed on. A night of ten thousand episodes then fills a gigabyte at most.
OUTPUT_LIMIT = 100_000

#: A line that is longer than this (bytes) is passed on in pieces, and one that does not end waits so long (s).
_LONGEST, _UNFINISHED = 1 << 16, 0.2

#: Seconds that what is still in the pipe has to be passed on, should a process that nobody found go on writing.
_LAST = 1.0

_STDERR = 2


class OutputRelay:
    """Empties a pipe in a thread of its own, so that a worker never waits for whoever reads stderr too slowly.

    What goes beyond the bound is read and dropped, and how much that was is said when the episode is over.
    """

    def __init__(self, descriptor: int, name: str, span: str = "in one episode", bound: int = OUTPUT_LIMIT) -> None:
        """Begin.

        Args:
            descriptor: the reading end of the pipe, which becomes this object's.
            name: of the worker, for what is said.
            span: what the bound is for, as part of a sentence.
            bound: bytes that are passed on.
        """
        self._descriptor = descriptor
        self._name = name
        self._span = span
        self._bound = bound
        self._lock = threading.Lock()
        self._line = bytearray()
        self._passed = self._dropped = 0
        self._deadline: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"rbench-output-{name}", daemon=True)
        self._thread.start()

    def next_episode(self) -> None:
        """An episode is over: say what was dropped, and begin to count again."""
        with self._lock:
            if self._line:
                self._line += b"\n"
                self._flush()
            if self._dropped:
                text = (
                    f"note: {self._name} printed {_size(self._passed + self._dropped)} {self._span};"
                    f" {_size(self._dropped)} of it were dropped\n"
                )
                _write(text.encode())
            self._passed = self._dropped = 0

    def close(self) -> None:
        """Pass on what is still in the pipe; call when the worker has ended."""
        self._deadline = time.monotonic() + _LAST
        self._thread.join()
        self.next_episode()
        os.close(self._descriptor)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        while (deadline := self._deadline) is None or time.monotonic() < deadline:
            if poll.poll(0 if deadline else 1000 * _UNFINISHED):
                data = os.read(self._descriptor, 1 << 16)
                if not data:
                    return
                with self._lock:
                    self._take(data)
            elif deadline:  # a process that nobody could find keeps the other end open
                return
            else:
                with self._lock:
                    self._flush()

    def _take(self, data: bytes) -> None:
        room = max(0, self._bound - self._passed)
        self._passed += min(room, len(data))
        self._dropped += max(0, len(data) - room)
        self._line += data[:room]
        end = self._line.rfind(b"\n") + 1
        if end == 0 and len(self._line) > _LONGEST:
            end = len(self._line)
        _write(self._line[:end])
        del self._line[:end]

    def _flush(self) -> None:
        _write(self._line)
        self._line.clear()


def _write(data: bytes | bytearray) -> None:
    rest = memoryview(bytes(data))
    with contextlib.suppress(OSError):  # nobody reads stderr
        while rest:
            rest = rest[os.write(_STDERR, rest) :]


def _size(number: int) -> str:
    return f"{number / 1e6:.1f} MB" if number >= 1e5 else f"{number} bytes"
