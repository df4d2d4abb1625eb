"""A slot: the Ray actor that runs episodes of a run, one at a time, wherever Ray has put it.

It holds a pool of one worker process, so that whatever agent code does to its process is dealt with as on one machine.
Orders and answers are bytes: JSON, and trajectories behind it (`messages`).
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rbench.running.executors.guardian_main import MARK
from rbench.running.executors.messages import Message, failure, packed, unpacked
from rbench.values import from_plain, to_plain

if TYPE_CHECKING:
    from rbench.running.executors import Waiting
    from rbench.running.executors.processes import WorkerPool

#: Environment variables of the user that also count elsewhere, or their absence: the rest is the machine's own.
_THREADS = (
    "LP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_OURS = "RBENCH_"

#: Answers that come sooner (s) after the last that was sent go together with the next. What is lost with a machine is
#: then that much more, and is played again.
HELD_SECONDS = 0.25


def settings_to_send(job: Message, environment: Mapping[str, str]) -> Message:
    """What a slot needs to begin.

    Args:
        job: as plain data.
        environment: of this process. Keys of services are left out: whatever is sent may end in
            a log of Ray.
    """
    sent = {name: value for name, value in environment.items() if name in _THREADS or name.startswith(_OURS)}
    path = [entry for entry in sys.path if isinstance(entry, str)]
    return {"job": job, "environment": sent, "path": path, "folder": str(Path.cwd())}


class Slot:
    """An actor. Its methods answer with packed messages; what ends the run is `{"failure": ...}`, as of a worker."""

    def __init__(self) -> None:
        # Ray sends what is printed to the stdout of the run, where results stand.
        os.dup2(2, 1)
        self._pool: WorkerPool | None = None
        self._waiting: tuple[Waiting, ...] = ()

    def start(self, settings: bytes) -> bytes:
        """Become what the settings say: those of the run, and how many slots there may be on one machine."""
        try:
            self._start(unpacked(settings)[0])
        except Exception as problem:
            return _failed(problem)
        return packed({"ready": os.getpid()})

    def run(self, episodes: bytes) -> Iterator[bytes]:
        """Run episodes; the records as they come, those of very short ones together.

        Each answer costs Ray some 1.5 ms of processor time.
        """
        from rbench.design import Episode

        assert self._pool is not None
        given = (from_plain(Episode, episode) for episode in unpacked(episodes)[0]["episodes"])
        held: list[bytes] = []
        sent = time.monotonic()
        try:
            for answer in self._pool.run(given):
                if answer is not None:
                    held.append(packed(*answer))
                if held and time.monotonic() - sent >= HELD_SECONDS:
                    yield b"".join(held)
                    held.clear()
                    sent = time.monotonic()
        except Exception as problem:
            held.append(_failed(problem))
        if held:
            yield b"".join(held)

    def waiting(self) -> bytes:
        """What the worker is at, if it has been at it for long. Called while `run` works."""
        return packed({"waiting": to_plain(self._waiting)})

    def end(self) -> None:
        """Let the worker close its agent and end."""
        if self._pool is not None:
            self._pool.end()

    def stop(self) -> None:
        """End the worker, whatever it does. Called while `run` works."""
        if self._pool is not None:
            self._pool.stop()

    def _start(self, settings: Message) -> None:
        """Stand where the run stands: its import path, folder and settings, as far as they exist here."""
        sys.path[:] = list(dict.fromkeys([*settings["path"], *sys.path]))
        if Path(settings["folder"]).is_dir():
            os.chdir(settings["folder"])
        for name in _THREADS:
            os.environ.pop(name, None)
        os.environ.update(settings["environment"])
        # A Ray that the run started carries its mark. What is started here must outlive that long enough to tidy up.
        os.environ.pop(MARK, None)
        importlib.invalidate_caches()
        # Imported here: they may be other ones, or missing, and then that is what is reported.
        from rbench.plugins.catalog import build_catalog
        from rbench.running.executors.processes import WorkerPool
        from rbench.running.job import Job
        from rbench.suites.loading import load_suite

        job = from_plain(Job, settings["job"])
        job.check_versions()
        suite = load_suite(build_catalog(only=job.distributions), job.description.suite)
        self._pool = WorkerPool(job, suite, 1, self._wait, sharing=settings["neighbours"])

    def _wait(self, waiting: tuple[Waiting, ...]) -> None:
        self._waiting = waiting


def _failed(problem: Exception) -> bytes:
    """What ends the run, with the machine on which it happened."""
    message = failure(problem)
    return packed({**message, "message": f"on {socket.gethostname()}: {message['message']}"})
