"""The Ray executor: slots on the machines of a Ray cluster, or on this one.

Each slot is an actor with one worker process (`ray_slot`). It gets episodes in plan order, in batches that are as long
as episodes are short. A slot that is lost, with its machine perhaps, is an event: what it had is tried again elsewhere,
and a new slot takes its place.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from rbench.design import Episode
from rbench.errors import StartError, StoppedEarly, one_line
from rbench.record import EpisodeRecord
from rbench.running.episode import WORKER_LOST, Finished
from rbench.running.executors import OnWait, unwatched
from rbench.running.executors.messages import Message, Unpacker, packed, raise_failure
from rbench.running.executors.processes import FAILED_STARTS
from rbench.running.executors.ray_cluster import address_of_cluster, connected, node_cpus, share_of_slot
from rbench.running.executors.ray_slot import Slot, settings_to_send
from rbench.running.executors.worker_process import LAST_PATIENCE, PATIENCE
from rbench.running.job import Job
from rbench.running.unplayed import unplayed_record
from rbench.running.worker import ATTEMPTS
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.values import to_plain

#: Batches hold about so many seconds of episodes: handing one out takes milliseconds, and losing one costs that much.
BATCH_SECONDS, LARGEST_BATCH = 1.0, 64

#: Slots whose episodes take less (s) have a batch ahead, so that they never wait for the network. With longer ones the
#: wait is nothing, and the last episodes of a run are spread better.
AHEAD_BELOW = 10.0

#: Seconds between two looks at the cluster while nothing comes.
_PULSE = 0.5

#: Seconds that a cluster without a processor for us may take to get one before the run stops.
_NO_NODE_PATIENCE = 30.0


def run_ray(
    job: Job, suite: Suite, episodes: Iterator[Episode], workers: int, on_wait: OnWait = unwatched
) -> Generator[Finished, None, None]:
    """Run episodes on a Ray cluster.

    Raises:
        StartError: there is no cluster, or slots cannot start. StoppedEarly: they cannot go on.
    """
    environment = dict(os.environ)  # as the user set it: Ray adds to it
    with connected(address_of_cluster(), workers) as ray:
        slots = _Slots(ray, job, suite, episodes, workers, environment)
        try:
            yield from slots.run()
            slots.end()
        finally:
            slots.stop()


@dataclass
class _Batch:
    """Episodes handed to a slot together: what it answers, and which of them it has not finished."""

    answers: Any
    episodes: deque[Episode]
    size: int


@dataclass(eq=False)
class _Slot:
    """A slot, seen from the run.

    Attributes:
        starting: the answer to its start, until that has come.
        batches: what it was given and has not finished; it works on the first.
        seconds: what an episode of its last batch took.
    """

    actor: Any
    starting: Any
    batches: deque[_Batch] = field(default_factory=deque)
    began: float = 0.0
    seconds: float | None = None

    @property
    def next_answer(self) -> Any:
        """What Ray is to wait for; None while it has nothing to do."""
        if self.starting is not None:
            return self.starting
        return self.batches[0].answers if self.batches else None

    @property
    def batch_size(self) -> int:
        if self.seconds is None:
            return 1
        return max(1, min(LARGEST_BATCH, int(BATCH_SECONDS / max(self.seconds, 1e-9))))

    @property
    def room(self) -> int:
        """How many more batches it should have now."""
        if self.starting is not None:
            return 0
        ahead = self.seconds is not None and self.seconds < AHEAD_BELOW
        return 1 + ahead - len(self.batches)

    def finished_one(self) -> None:
        self.batches[0].episodes.popleft()

    def finished_batch(self) -> None:
        now = time.monotonic()
        self.seconds, self.began = (now - self.began) / self.batches.popleft().size, now


class _Slots:
    """The slots of one run."""

    def __init__(
        self, ray: Any, job: Job, suite: Suite, episodes: Iterator[Episode], size: int, environment: dict[str, str]
    ) -> None:
        self._ray = ray
        self._job = job
        self._suite = suite
        self._manager = RecursiveVariantTaskManager(suite)
        self._episodes = episodes
        self._size = size
        cpus = node_cpus(ray)
        share = share_of_slot(cpus, size)
        neighbours = min(size, max([int(number / share) for number in cpus], default=1)) or 1
        self._settings = ray.put(settings_to_send(to_plain(job), environment, neighbours))
        self._slots: list[_Slot] = []
        #: Taken from the plan and given to nobody: what was lost, and one for each slot that is starting.
        self._queue: deque[Episode] = deque()
        self._attempts: Counter[str] = Counter()
        self._failed_starts = 0
        self._any_finished = False
        self._idle_since: float | None = None

    def run(self) -> Iterator[Finished]:
        """Hand out episodes until all are finished."""
        self._hand_out()
        while self._queue or any(slot.batches for slot in self._slots):
            answers = {slot.next_answer: slot for slot in self._slots if slot.next_answer is not None}
            ready, _ = self._ray.wait(list(answers), num_returns=1, timeout=_PULSE)
            for answer in ready:
                yield from self._attend(answers[answer])
            self._hand_out()
            self._look_for_nodes()

    def end(self) -> None:
        """Let the slots close their agents."""
        ended = [slot.actor.end.remote() for slot in self._slots if slot.starting is None]
        if ended:
            self._ray.wait(ended, num_returns=len(ended), timeout=PATIENCE + LAST_PATIENCE)

    def stop(self) -> None:
        """End the slots, whatever they do: told first, so that agents can close what they hold."""
        try:
            with suppress(self._ray.exceptions.RayError):
                told = [
                    slot.actor.stop.options(concurrency_group="control").remote()
                    for slot in self._slots
                    if slot.batches and slot.starting is None
                ]
                if told:
                    self._ray.wait(told, num_returns=len(told), timeout=2 * LAST_PATIENCE)
        finally:
            for slot in self._slots:
                self._kill(slot)
            self._slots.clear()

    def _attend(self, slot: _Slot) -> Iterator[Finished]:
        if slot.starting is not None:
            self._started(slot)
            return
        try:
            message, blob = self._message(next(slot.batches[0].answers))
        except StopIteration:
            slot.finished_batch()
            return
        except self._ray.exceptions.RayError as problem:
            yield from self._lost(slot, problem)
            return
        if "finished" not in message:
            raise_failure(message)
        slot.finished_one()
        self._any_finished = True
        yield Finished(EpisodeRecord.from_plain(message["finished"]), blob, message["provenance"])

    def _message(self, answer: Any) -> tuple[Message, bytes]:
        ((message, blob),) = Unpacker().feed(self._ray.get(answer))
        return message, blob

    def _started(self, slot: _Slot) -> None:
        try:
            message, _ = self._message(slot.starting)
        except self._ray.exceptions.RayError as problem:
            self._slots.remove(slot)
            self._kill(slot)
            self._failed_start(problem)
            return
        if "ready" not in message:
            raise_failure(message)
        slot.starting, slot.began = None, time.monotonic()
        self._failed_starts = 0

    def _failed_start(self, problem: Exception) -> None:
        self._failed_starts += 1
        # All slots of a machine fail together when it is switched off; that is one misfortune.
        if self._failed_starts < FAILED_STARTS * self._size:
            return
        kind = StoppedEarly if self._any_finished else StartError
        raise kind(
            f"slots on the Ray cluster end before they are ready ({one_line(problem)}). Every machine of it needs the"
            " same rbench and plugins as this one; run with --executor serial to see whether they work here"
        ) from problem

    def _hand_out(self) -> None:
        for slot in self._slots:
            while slot.room > 0 and (episodes := self._take(slot.batch_size)):
                plain = packed({"episodes": [to_plain(episode) for episode in episodes]})
                answers = slot.actor.run.options(num_returns="streaming").remote(plain)
                if not slot.batches:
                    slot.began = time.monotonic()
                slot.batches.append(_Batch(answers, deque(episodes), len(episodes)))
        starting = sum(slot.starting is not None for slot in self._slots)
        while len(self._slots) < self._size and self._is_work_for(starting + 1):
            self._slots.append(self._new_slot())
            starting += 1

    def _take(self, number: int) -> list[Episode]:
        self._is_work_for(number)
        return [self._queue.popleft() for _ in range(min(number, len(self._queue)))]

    def _is_work_for(self, number: int) -> bool:
        """Whether so many episodes are left; they are then in the queue."""
        while len(self._queue) < number and (episode := next(self._episodes, None)) is not None:
            self._queue.append(episode)
        return len(self._queue) >= number

    def _new_slot(self) -> _Slot:
        actor_class = self._ray.remote(
            num_cpus=share_of_slot(node_cpus(self._ray), self._size),
            max_restarts=0,
            # `stop` comes while `run` works.
            concurrency_groups={"control": 1},
        )(Slot)
        actor = actor_class.remote()
        return _Slot(actor, actor.start.remote(self._settings))

    def _lost(self, slot: _Slot, problem: Exception) -> Iterator[Finished]:
        """Take a slot that ended out, and deal with the episodes it had."""
        self._slots.remove(slot)
        self._kill(slot)
        left = [episode for batch in slot.batches for episode in batch.episodes]
        if not left:
            return
        first, *others = left
        self._queue.extendleft(reversed(others))
        self._attempts[first.id] += 1
        if self._attempts[first.id] < ATTEMPTS:
            self._queue.appendleft(first)
        else:
            yield self._lost_episode(first, problem, time.monotonic() - slot.began)

    def _lost_episode(self, episode: Episode, problem: Exception, seconds: float) -> Finished:
        name = self._job.description.agent.name
        record = unplayed_record(
            self._suite,
            self._manager,
            episode,
            self._job.description.seed,
            outcome="infrastructure_error",
            reason=WORKER_LOST,
            error=f"agent {name!r}: its slot on the Ray cluster was lost {ATTEMPTS} times ({one_line(problem)})",
        )
        lost = {"phase": None, "signal": None, "status": None}
        record = replace(record, agent={**record.agent, "lost": lost}, timing={"total": seconds})
        return Finished(record, b"")

    def _look_for_nodes(self) -> None:
        """Stop when no machine is left that could take a slot."""
        now = time.monotonic()
        if not self._slots or any(slot.starting is None for slot in self._slots):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since > _NO_NODE_PATIENCE and not node_cpus(self._ray):
            kind = StoppedEarly if self._any_finished else StartError
            raise kind("the Ray cluster has no machine with a processor left; add some (`ray start`), then resume")

    def _kill(self, slot: _Slot) -> None:
        with suppress(self._ray.exceptions.RayError, ValueError):
            self._ray.kill(slot.actor)
