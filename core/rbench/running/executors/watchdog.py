"""Which worker has passed a limit, which is due to be replaced, and which keeps a run waiting."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace

from rbench.running.executors import Waiting
from rbench.running.executors.worker_process import PATIENCE, Ending, Exceeded, WorkerProcess
from rbench.running.limits import MEMORY_SHARE, Limits
from rbench.running.process_facts import (
    machine_memory,
    most_open_files,
    open_files,
    out_of_memory_kills,
    private_memory,
)

#: Seconds in one phase after which a wait is told.
LONG_WAIT = 10.0

#: Looks at how many processes the system has ended, of which the oldest counts: a large one takes a while to end.
_LOOKS_KEPT = 6

_MEGABYTE = 1e6


class Watchdog:
    """Judges workers by their limits. Ends none itself.

    Attributes:
        limits: with `memory` filled in; 0 where no bound is known.
    """

    def __init__(self, limits: Limits, workers: int) -> None:
        whole = machine_memory() or 0
        share = whole * MEMORY_SHARE / workers / _MEGABYTE
        self.limits = Limits(limits.episode, limits.start, share if limits.memory is None else limits.memory)
        self._shared_out = limits.memory is None
        self._kills = deque([out_of_memory_kills()], maxlen=_LOOKS_KEPT)

    def look(self) -> None:
        """Notice what the system has ended until now."""
        self._kills.append(out_of_memory_kills())

    def explained(self, ending: Ending, worker: WorkerProcess) -> Ending:
        """The same ending, with what speaks for a lack of memory if a worker was killed from outside."""
        if ending.signal != "SIGKILL" or ending.exceeded is not None:
            return ending
        used = f"it used {worker.memory / _MEGABYTE:.0f} MB shortly before"
        if out_of_memory_kills() > self._kills[0]:
            return replace(ending, note=f"when the system ended a process for lack of memory; {used}")
        if self.limits.memory and worker.memory > self.limits.memory * _MEGABYTE / 2:
            return replace(ending, note=f"perhaps from the system, for lack of memory; {used}")
        return ending

    def exceeded(self, worker: WorkerProcess) -> Exceeded | None:
        """The limit that a worker has passed, if any."""
        seconds = time.monotonic() - worker.began
        limits = self.limits
        if worker.leaving is not None:
            late = time.monotonic() - worker.leaving > PATIENCE
            return Exceeded("hang", PATIENCE, "it did not end when it was asked to") if late else None
        if worker.since is None:
            if limits.start and seconds > limits.start:
                return Exceeded("hang", limits.start, f"not ready after {limits.start:g} s, the --start-limit")
        elif worker.given and limits.episode and seconds > limits.episode:
            return Exceeded("hang", limits.episode, f"no end after {limits.episode:g} s, the --episode-limit")
        worker.memory = private_memory(worker.pid)
        if limits.memory and worker.memory > limits.memory * _MEGABYTE:
            whose = "its share of the memory" if self._shared_out else "the --worker-memory"
            return Exceeded("memory", round(limits.memory), f"more than {limits.memory:.0f} MB used, {whose}")
        return None

    def outgrown(self, worker: WorkerProcess) -> bool:
        """Whether a worker that finished an episode has grown half the way to its limits since its first one.

        A new one in its place costs a second or two, and an agent that leaks no episode.
        """
        now = (private_memory(worker.pid), open_files(worker.pid))
        if worker.settled is None:
            worker.settled = now
            return False
        most = (round(self.limits.memory or 0) * int(_MEGABYTE), most_open_files(worker.pid))
        return any(
            limit > 0 and number - first > max(0, limit - first) / 2
            for number, first, limit in zip(now, worker.settled, most, strict=True)
        )


def long_wait(worker: WorkerProcess) -> Waiting | None:
    """What a worker is at, if it has been at it for long."""
    if not worker.given:
        return None
    seconds = time.monotonic() - worker.entered
    return Waiting(worker.number, worker.phase.doing, seconds) if seconds >= LONG_WAIT else None
