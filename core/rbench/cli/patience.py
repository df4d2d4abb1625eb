"""A word to whoever waits for something that cannot say itself that it takes long."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from rbench.cli.output import print_note

#: Seconds after which it is said.
SLOW = 10.0

#: With the serial executor it is in this process, where nothing can end it but the user.
MAKING_AGENT = (
    "note: this takes long: the agent is imported and made here once, to learn what it declares (weights are loaded,"
    " perhaps). Ctrl-C ends it"
)


def told_if_slow(text: str) -> contextlib.AbstractContextManager[None]:
    """Print a note, once, if what is done inside takes long."""
    return after(SLOW, lambda: print_note(text))


@contextlib.contextmanager
def after(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    """Act, once and in a thread of its own, if what is done inside takes longer."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
