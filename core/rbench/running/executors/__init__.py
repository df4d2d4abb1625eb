"""Executors: where and in what order episodes run; all give the same records.

An executor is a function `(job, suite, episodes, workers)` that yields a `Finished` for each episode it takes,
in whatever order they end. It takes episodes one by one, as it needs them, and yields before it asks for many more,
so that memory does not grow with the run. It ends its workers however it is left: exhausted, closed or by an
exception. One that can tell which of its workers are at something for long takes a fifth argument, `on_wait`, and
calls it with them about twice a second, and with none once that is over.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rbench.errors import UsageError, did_you_mean
from rbench.running.limits import Limits

if TYPE_CHECKING:
    from rbench.design import Episode
    from rbench.running.episode import Finished
    from rbench.running.job import Job
    from rbench.suites.suite import Suite

    class Executor(Protocol):
        """See above."""

        def __call__(
            self, job: Job, suite: Suite, episodes: Iterator[Episode], workers: int, on_wait: OnWait = ...
        ) -> Generator[Finished, None, None]: ...


#: Name -> target of the function. Imported when chosen.
EXECUTORS = {
    "processes": "rbench.running.executors.processes:run_processes",
    "ray": "rbench.running.executors.ray:run_ray",
    "serial": "rbench.running.executors.serial:run_serial",
}

# Worker processes talk over a socket pair that Windows cannot hand to a child.
DEFAULT_EXECUTOR = "serial" if sys.platform == "win32" else "processes"


@dataclass(frozen=True)
class Waiting:
    """A worker that has been at one thing for long.

    Attributes:
        worker: its number, from 1.
        doing: what it is at: `in act()`.
        seconds: for how long.
    """

    worker: int
    doing: str
    seconds: float


OnWait = Callable[[tuple[Waiting, ...]], Any]


def unwatched(waiting: tuple[Waiting, ...]) -> None:
    """An `on_wait` for which nobody waits."""


@dataclass(frozen=True)
class Execution:
    """Where the episodes of a run are executed. Decides no record.

    Attributes:
        workers: how many at once; None: one for each usable core, of the cluster with Ray.
        limits: what a worker may take before it is ended; the serial executor ends nothing.

    Raises:
        UsageError: an unknown executor, or fewer than one worker. StartError: its library is missing.
    """

    executor: str = DEFAULT_EXECUTOR
    workers: int | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.executor not in EXECUTORS:
            raise UsageError(f"executor {self.executor!r} is not known.{did_you_mean(self.executor, EXECUTORS)}")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"{self.workers} workers run nothing; ask for at least 1")
        if self.executor == "ray":
            importlib.import_module("rbench.running.executors.ray_cluster").check_ray()

    @cached_property
    def at_once(self) -> int:
        """How many workers there are."""
        if self.executor == "serial":
            return 1
        if self.workers is not None:
            return self.workers
        if self.executor == "ray":
            cpus: int = importlib.import_module("rbench.running.executors.ray_cluster").cluster_cpus(usable_cores())
            return cpus
        return usable_cores()

    def load(self) -> Executor:
        """The function."""
        module, _, attribute = EXECUTORS[self.executor].partition(":")
        executor: Executor = getattr(importlib.import_module(module), attribute)
        return executor


def usable_cores() -> int:
    """The cores that this process may use: its affinity, and no more than the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else (os.cpu_count() or 1)
    return max(1, min(cores, cores_of_quota(Path("/sys/fs/cgroup/cpu.max"), cores)))


def cores_of_quota(file: Path, otherwise: int) -> int:
    """Cores of a control group: `max 100000`, or microseconds of every period such as `200000 100000`."""
    try:
        share, period = file.read_text().split()
        return ceil(int(share) / int(period))
    except (OSError, ValueError):
        return otherwise
