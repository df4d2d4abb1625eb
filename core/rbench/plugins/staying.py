"""Plugin code that must not end the process it is called in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def without_exit() -> Iterator[None]:
    """In here `os._exit` raises `SystemExit`, as `sys.exit` does, so that the caller can say who wanted to end it all.

    Children that the code forks end as they like. What ends a process from C is not stopped.
    """
    itself, end = os.getpid(), os._exit

    def stay(status: int) -> NoReturn:
        if os.getpid() != itself:
            end(status)
        raise SystemExit(status)

    os._exit = stay
    try:
        yield
    finally:
        os._exit = end
