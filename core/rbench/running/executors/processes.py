"""The processes executor: worker processes on this machine.

Each worker gets episodes in plan order, at most one ahead. A worker that ends is an event with a record: in agent
code it costs the episode (`agent_error`), elsewhere the episode is tried again; a new worker takes its place. One that
passes a limit is ended (`watchdog`), and is lost like any other.
"""

from __future__ import annotations

import importlib
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import count
from multiprocessing.connection import wait
from typing import Any

from rbench.design import Episode
from rbench.errors import StartError, StoppedEarly
from rbench.record import EpisodeRecord, Outcome
from rbench.running.episode import WORKER_LOST, Finished
from rbench.running.executors import OnWait, Waiting, unwatched
from rbench.running.executors.guardian import Guardian
from rbench.running.executors.messages import Message, raise_failure
from rbench.running.executors.watchdog import Watchdog, long_wait
from rbench.running.executors.worker_process import Ending, WorkerProcess, end, stop
from rbench.running.job import Job
from rbench.running.phases import Phase
from rbench.running.unplayed import unplayed_record
from rbench.running.worker import ATTEMPTS
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.values import to_plain

#: What a worker says of an episode that it finished (`finished`, `provenance`), and the trajectory behind it.
Answer = tuple[Message, bytes]

#: Workers that end one after the other before any is ready: then it is not bad luck.
FAILED_STARTS = 3

#: A worker whose last episode took less (s) is given its next one ahead, so that it need not wait for this process.
#: With longer episodes the wait is nothing, and the last ones are spread better.
SHORT_EPISODE = 1.0

#: Seconds between two looks at limits, and at whether workers live whose connection somebody else keeps open.
PULSE = 0.5

#: Seconds beyond that after which this process was stopped, or busy: workers may have been stopped too, and their time
#: is not counted.
PAUSED = 5.0

#: Seconds to wait for our own SIGTERM when a worker got one: a job that is ended as a whole blames no agent.
GRACE = 1.0


def run_processes(
    job: Job, suite: Suite, episodes: Iterator[Episode], workers: int, on_wait: OnWait = unwatched
) -> Generator[Finished, None, None]:
    """Run episodes in worker processes.

    Raises:
        StartError: workers cannot start. StoppedEarly: they cannot go on.
    """
    pool = WorkerPool(job, suite, workers, on_wait)
    try:
        for answer in pool.run(episodes):
            if answer is not None:
                yield finished(*answer)
        pool.end()
    finally:
        pool.stop()


def finished(answer: Message, trajectory: bytes) -> Finished:
    """What a worker answered, as the episode that it finished."""
    return Finished(EpisodeRecord.from_plain(answer["finished"]), trajectory, answer["provenance"])


class WorkerPool:
    """Worker processes on this machine, and what becomes of episodes whose worker is lost.

    Attributes:
        workers: the processes that there are now.
    """

    def __init__(
        self, job: Job, suite: Suite, size: int, on_wait: OnWait = unwatched, sharing: int | None = None
    ) -> None:
        """A pool of at most `size` workers, each started when there is an episode for it.

        Args:
            sharing: how many workers share the memory of this machine, if other pools are there.
        """
        self.workers: list[WorkerProcess] = []
        self._job = job
        self._message: Message = to_plain(job)
        self._suite = suite
        self._manager = RecursiveVariantTaskManager(suite)
        self._episodes: Iterator[Episode] = iter(())
        self._size = size
        self._watchdog = Watchdog(job.limits, sharing or size)
        self._looked = 0.0
        self._on_wait = on_wait
        self._waiting: tuple[Waiting, ...] = ()
        # Chosen once, here: the search starts a process of its own.
        gl = importlib.import_module("rbench.simulation.gl")
        self._environment = gl.gl_variables(gl.choose_gl())
        self._again: deque[Episode] = deque()
        self._attempts: Counter[str] = Counter()
        self._failed_starts = 0
        self._any_finished = False
        self._guardian = Guardian()

    def run(self, episodes: Iterator[Episode]) -> Iterator[Answer | None]:
        """Hand out episodes until all are finished. The workers stay, for more.

        Yields:
            what workers answer, as it comes; and None twice a second, for those who have something else to do then.
        """
        self._episodes = episodes
        self._looked = time.monotonic()
        self._hand_out()
        while any(worker.given or worker.leaving for worker in self.workers):
            readable = wait([worker.connection for worker in self.workers], PULSE)
            for worker in list(self.workers):
                if worker.connection in readable or not worker.alive:
                    yield from self._attend(worker)
            if time.monotonic() - self._looked >= PULSE:
                yield from self._look()
                yield None
            self._hand_out()

    def end(self) -> None:
        """Let the workers close their agents and end."""
        end(self.workers)
        self.workers.clear()
        self._guardian.close()

    def stop(self) -> None:
        """End the workers, whatever they do."""
        try:
            stop(self.workers)
        finally:
            self.workers.clear()
            self._guardian.close()

    def _attend(self, worker: WorkerProcess) -> Iterator[Answer]:
        # Asked before reading: what a worker sent before it died is then there to be read.
        dead = not worker.alive
        messages, hung_up = worker.received()
        for message, blob in messages:
            if "finished" in message:
                self._took(worker, message["changed"])
                yield message, blob
            elif "ready" in message:
                worker.ready()
                self._failed_starts = 0
            else:
                raise_failure(message)
        if dead or hung_up:
            yield from self._lost(worker, self._watchdog.explained(worker.ending(), worker))

    def _took(self, worker: WorkerProcess, changed: bool) -> None:
        """A worker finished its first episode: it goes on, unless a new one had better take its place.

        Args:
            changed: the agent changed its process for good, so that it ends now.
        """
        worker.took()
        self._any_finished = True
        if changed:
            self._again.extendleft(reversed(worker.given))
            worker.given.clear()
            worker.leave()
        elif not self._watchdog.outgrown(worker):
            self._give(worker)
        elif not worker.given:
            worker.leave()

    def _look(self) -> Iterator[Answer]:
        """End workers that passed a limit, and say which ones are at something for long."""
        now = time.monotonic()
        paused = now - self._looked - PULSE
        self._looked = now
        self._watchdog.look()
        for worker in list(self.workers):
            worker.look()
            if paused > PAUSED:
                worker.began = min(now, worker.began + paused)
            if exceeded := self._watchdog.exceeded(worker):
                yield from self._lost(worker, worker.end_for(exceeded))
        waiting = tuple(filter(None, map(long_wait, self.workers)))
        if waiting or self._waiting:
            self._on_wait(waiting)
        self._waiting = waiting

    def _hand_out(self) -> None:
        """Give every worker something to do, and start as many as there is work for."""
        for worker in self.workers:
            if not worker.given and worker.leaving is None:
                self._give(worker)
        while len(self.workers) < self._size and (episode := self._next()) is not None:
            number = next(n for n in count(1) if all(worker.number != n for worker in self.workers))
            worker = WorkerProcess({"job": self._message}, self._environment, number, self._guardian)
            self.workers.append(worker)
            worker.give(episode)

    def _give(self, worker: WorkerProcess) -> None:
        ahead = worker.seconds is not None and worker.seconds < SHORT_EPISODE
        while len(worker.given) < 1 + ahead and (episode := self._next()) is not None:
            worker.give(episode)

    def _next(self) -> Episode | None:
        return self._again.popleft() if self._again else next(self._episodes, None)

    def _lost(self, worker: WorkerProcess, ending: Ending) -> Iterator[Answer]:
        """Take a worker that ended out of the pool, and deal with the episodes it had."""
        if ending.by_request:
            time.sleep(GRACE)
        self.workers.remove(worker)
        phase, since, given = worker.phase, worker.since, worker.given
        worker.release()
        if since is None:
            self._failed_start(ending, phase)
            self._again.extendleft(reversed(given))
            return
        if not given:
            return
        episode = given.popleft()
        self._again.extendleft(reversed(given))
        seconds = time.monotonic() - since
        if phase.in_agent and not ending.by_request:
            yield self._lost_episode(episode, "agent_error", ending, phase, seconds)
            return
        self._attempts[episode.id] += 1
        if self._attempts[episode.id] < ATTEMPTS:
            self._again.appendleft(episode)
        else:
            yield self._lost_episode(episode, "infrastructure_error", ending, phase, seconds)

    def _failed_start(self, ending: Ending, phase: Phase) -> None:
        self._failed_starts += 1
        if self._failed_starts < FAILED_STARTS:
            return
        kind = StoppedEarly if self._any_finished else StartError
        raise kind(
            f"agent {self._job.description.agent.name!r}: worker processes end before they are ready ({ending},"
            f" {phase.words}); run with --executor serial to see why"
        )

    def _lost_episode(self, episode: Episode, outcome: Outcome, ending: Ending, phase: Phase, seconds: float) -> Answer:
        agent, exceeded = self._job.description.agent.name, ending.exceeded
        record = unplayed_record(
            self._suite,
            self._manager,
            episode,
            self._job.description.seed,
            outcome=outcome,
            reason=WORKER_LOST if exceeded is None else exceeded.reason,
            error=f"agent {agent!r}: its worker process was lost {phase.words} ({ending})",
        )
        lost: dict[str, Any] = {"phase": phase.name.lower(), "signal": ending.signal, "status": ending.status}
        if exceeded is not None:
            lost["limit"] = exceeded.limit
        record = replace(record, agent={**record.agent, "lost": lost}, timing={"total": seconds})
        return {"finished": record.to_plain(), "provenance": {}}, b""
