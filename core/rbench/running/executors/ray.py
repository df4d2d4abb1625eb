"""The Ray executor: slots on the machines of a Ray cluster, or on this one.

Each slot is an actor with one worker process (`ray_slot`). It gets episodes in plan order, in batches that are as long
as episodes are short. A slot that is lost, with its machine perhaps, is an event: what it had is tried again elsewhere,
and a new slot takes its place. All of that is done in a process of its own (`ray_dispatcher`), so that the end of the
cluster is not that of the run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import islice
from multiprocessing.connection import wait
from typing import Any

from rbench.design import Episode
from rbench.errors import StartError, StoppedEarly
from rbench.running.episode import WORKER_LOST, Finished
from rbench.running.executors import OnWait, Waiting, unwatched
from rbench.running.executors.guardian import Guardian
from rbench.running.executors.messages import Message, raise_failure
from rbench.running.executors.processes import GRACE, PULSE, finished
from rbench.running.executors.ray_cluster import address_of_cluster
from rbench.running.executors.ray_slot import settings_to_send
from rbench.running.executors.worker_process import Ending, WorkerProcess
from rbench.running.job import Job
from rbench.running.unplayed import unplayed_record
from rbench.running.worker import ATTEMPTS
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.values import from_plain, to_plain

#: Seconds that a cluster without a processor for us may take to get one before the run stops.
NO_NODE_PATIENCE = 30.0

#: Seconds that the dispatcher has to end slots, and a Ray of its own, before it is killed.
_TIDYING = 20.0


def run_ray(
    job: Job, suite: Suite, episodes: Iterator[Episode], workers: int, on_wait: OnWait = unwatched
) -> Generator[Finished, None, None]:
    """Run episodes on a Ray cluster.

    Raises:
        StartError: there is no cluster, or slots cannot start. StoppedEarly: they cannot go on, or the cluster is gone.
    """
    address = _address()
    order = {
        "address": address,
        "slots": workers,
        "settings": settings_to_send(to_plain(job), os.environ),
        "attempts": ATTEMPTS,
        "patience": NO_NODE_PATIENCE,
    }
    guardian = Guardian()
    try:
        # What slots print is bounded where they are.
        process = WorkerProcess({"ray": order}, {}, 1, guardian, name="the Ray cluster", bound=sys.maxsize)
        dispatcher = _Dispatcher(process, address or "this machine", job, suite, episodes, on_wait)
        try:
            yield from dispatcher.run()
        finally:
            dispatcher.end()
    finally:
        guardian.close()


def _address() -> str | None:
    """Where the cluster is: the one that this program is connected to, or that is found; None: one is to be made."""
    ray: Any = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        address: str = ray.get_runtime_context().gcs_address
        return address
    return address_of_cluster()


class _Dispatcher:
    """The dispatcher, seen from the run."""

    def __init__(
        self,
        process: WorkerProcess,
        where: str,
        job: Job,
        suite: Suite,
        episodes: Iterator[Episode],
        on_wait: OnWait,
    ) -> None:
        self._process = process
        self._where = where
        self._job = job
        self._suite = suite
        self._manager = RecursiveVariantTaskManager(suite)
        self._episodes = episodes
        self._on_wait = on_wait
        self._any_finished = False
        self._ends_itself = False

    def run(self) -> Iterator[Finished]:
        """Give it episodes and take what becomes of them, until all are finished."""
        while not self._ends_itself:
            wait([self._process.connection], PULSE)
            # Asked before reading: what it sent before it died is then there to be read.
            dead = not self._process.alive
            messages, hung_up = self._process.received()
            for message, blob in messages:
                yield from self._take(message, blob)
            if (dead or hung_up) and not self._ends_itself:
                raise self._gone(self._process.ending())

    def end(self) -> None:
        """Wait for its end, which it is told unless it knows."""
        if not self._ends_itself:
            self._process.terminate()
        deadline = time.monotonic() + _TIDYING
        while self._process.alive and time.monotonic() < deadline:
            time.sleep(0.01)
        self._process.kill()
        self._process.release()

    def _take(self, message: Message, blob: bytes) -> Iterator[Finished]:
        if "finished" in message:
            self._any_finished = True
            yield finished(message, blob)
        elif "next" in message:
            given = [to_plain(episode) for episode in islice(self._episodes, message["next"])]
            self._process.send({"episodes": given})
        elif "waiting" in message:
            self._on_wait(from_plain(tuple[Waiting, ...], message["waiting"]))
        elif "lost" in message:
            yield self._lost_episode(from_plain(Episode, message["lost"]), message["problem"], message["seconds"])
        else:
            self._ends_itself = True
            if "done" not in message:
                raise_failure(message)

    def _lost_episode(self, episode: Episode, problem: str, seconds: float) -> Finished:
        name = self._job.description.agent.name
        record = unplayed_record(
            self._suite,
            self._manager,
            episode,
            self._job.description.seed,
            outcome="infrastructure_error",
            reason=WORKER_LOST,
            error=f"agent {name!r}: its slot on the Ray cluster was lost {ATTEMPTS} times ({problem})",
        )
        lost = {"phase": None, "signal": None, "status": None}
        record = replace(record, agent={**record.agent, "lost": lost}, timing={"total": seconds})
        return Finished(record, b"")

    def _gone(self, ending: Ending) -> StartError | StoppedEarly:
        """Ray has ended the dispatcher, as it does with what it finds without a cluster; or somebody else has."""
        if ending.by_request:  # a job that is ended as a whole: our own signal is on its way
            time.sleep(GRACE)
        return (StoppedEarly if self._any_finished else StartError)(
            f"the Ray cluster ({self._where}) is gone: the process that was connected to it has ended ({ending})."
            " Start it again (`ray start`), or choose another executor, then `rbench resume`"
        )
