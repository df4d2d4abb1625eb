"""What a worker may take, in seconds and megabytes, before it is ended."""

from __future__ import annotations

from dataclasses import dataclass

from rbench.errors import UsageError

#: Share of the machine's memory that all workers together may have by default.
MEMORY_SHARE = 0.9
#: Beyond it waiting overflows in the system: three years, or a hundred terabytes.
LARGEST = 1e8


@dataclass(frozen=True)
class Limits:
    """Bounds of a worker process. They decide no record, unless one is passed. 0: no bound.

    Attributes:
        episode: wall seconds of one attempt at an episode.
        start: wall seconds from the start of a worker until it is ready for episodes.
        memory: megabytes (1e6 bytes) of private memory, child processes included; None: an equal share of
            `MEMORY_SHARE` of what the machine or its container has.

    Raises:
        UsageError: a number that is negative, not finite or beyond `LARGEST`.
    """

    episode: float = 1800.0
    start: float = 600.0
    memory: float | None = None

    def __post_init__(self) -> None:
        for option, value in (
            ("--episode-limit", self.episode),
            ("--start-limit", self.start),
            ("--worker-memory", self.memory or 0.0),
        ):
            if not 0 <= value <= LARGEST:  # NaN is in no range
                raise UsageError(f"{option} {value:g}: give a number of 0 to {LARGEST:,.0f}; 0 is no limit")
