"""A word to whoever waits for something that cannot say itself that it takes long."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from rbench.cli.output import print_note

#: Seconds after which it is said.
SLOW = 10.0

#: With the serial executor it is in this process, where nothing can end it but the user.
MAKING_AGENT = (
    "note: this takes long: the agent is imported and made here once, to learn what it declares (weights are loaded,"
    " perhaps). Ctrl-C ends it"
)


@contextlib.contextmanager
def told_if_slow(text: str) -> Iterator[None]:
    """Print a note, once, if what is done inside takes long."""
    timer = threading.Timer(SLOW, print_note, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
