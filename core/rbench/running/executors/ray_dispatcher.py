"""The process of a run that is connected to a Ray cluster: gives episodes to slots and passes on what they answer.

Started by `ray`, as a process of its own: Ray ends processes that are connected to it when it loses its cluster, and
the run has to outlive that to say so.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from itertools import count
from queue import SimpleQueue
from typing import Any

from rbench.errors import RbenchError, StartError, StoppedEarly, one_line
from rbench.running.executors import Waiting
from rbench.running.executors.connection import Connection
from rbench.running.executors.messages import Message, begins_with, failure, packed, raise_failure, split, unpacked
from rbench.running.executors.ray_cluster import connected, node_cpus, share_of_slot
from rbench.running.executors.ray_handle import SlotHandle, Task
from rbench.running.executors.ray_slot import Slot
from rbench.running.executors.worker_process import LAST_PATIENCE, PATIENCE
from rbench.values import to_plain

#: So often every slot may end before it is ready: then it is not bad luck.
_FAILED_STARTS = 3

#: Seconds between two looks at slots and cluster.
_PULSE = 0.5


def dispatch(order: Message, connection: Connection, inbox: SimpleQueue[Message]) -> None:
    """Run episodes on a Ray cluster.

    Sends `next` (how many episodes it wants, which is answered with `episodes`), what slots answer (`finished`),
    `lost`, `waiting`, and at last `done` or `failure`.

    Args:
        order: `address` of the cluster, or None to start one; how many `slots`; `settings` for each; how many
            `attempts` an episode has; the `patience` (s) with a cluster that has no processor for us.

    Raises:
        StartError: there is no cluster.
    """
    with connected(order["address"], order["slots"]) as ray:
        dispatcher = _Dispatcher(ray, order, connection, inbox)
        try:
            dispatcher.run()
            # The run learns of it before Ray is shut down, which takes its time and may fail.
            connection.send({"done": True})
        except RbenchError as problem:
            connection.send(failure(problem))
        except (ray.exceptions.RayError, ConnectionError, TimeoutError) as problem:
            connection.send(failure(dispatcher.stopped(f"the Ray cluster fails: {one_line(problem)}")))
        finally:
            dispatcher.stop()


class _Dispatcher:
    """The slots of one run, and the episodes that nobody has."""

    def __init__(self, ray: Any, order: Message, connection: Connection, inbox: SimpleQueue[Message]) -> None:
        self._ray = ray
        self._connection = connection
        self._inbox = inbox
        self._size: int = order["slots"]
        self._most_attempts: int = order["attempts"]
        self._patience: float = order["patience"]
        cpus = node_cpus(ray)
        share = share_of_slot(cpus, self._size)
        neighbours = min(self._size, max([int(number / share) for number in cpus], default=1)) or 1
        self._settings = ray.put(packed({**order["settings"], "neighbours": neighbours}))
        self._slots: list[SlotHandle] = []
        #: Taken from the plan and given to nobody: what was lost, and one for each slot that is starting.
        self._queue: deque[Task] = deque()
        self._exhausted = False
        self._failed_starts = 0
        self._any_finished = False
        self._looked = time.monotonic()
        self._idle_since: float | None = None
        self._waiting: tuple[Waiting, ...] = ()

    def run(self) -> None:
        """Hand out episodes until all are finished, and let the slots close their agents."""
        self._hand_out()
        while self._queue or any(slot.batches for slot in self._slots):
            answers = {slot.next_answer: slot for slot in self._slots if slot.next_answer is not None}
            ready, _ = self._ray.wait(list(answers), num_returns=1, timeout=_PULSE)
            for answer in ready:
                self._attend(answers[answer])
            self._hand_out()
            if time.monotonic() - self._looked >= _PULSE:
                self._look()
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
                slot.kill()
            self._slots.clear()

    def stopped(self, text: str) -> StartError | StoppedEarly:
        """The error that says so, of a run that has got somewhere or not."""
        return (StoppedEarly if self._any_finished else StartError)(text)

    def _attend(self, slot: SlotHandle) -> None:
        if slot.starting is not None:
            self._started(slot)
            return
        try:
            answers = slot.received()
        except self._ray.exceptions.RayError as problem:
            self._lost(slot, problem)
            return
        if answers is None:
            return
        for answer in split(answers):
            if not begins_with(answer, "finished"):
                raise_failure(unpacked(answer)[0])
            slot.finished_one()
            self._any_finished = True
            self._connection.forward(answer)

    def _started(self, slot: SlotHandle) -> None:
        try:
            message = slot.started()
        except self._ray.exceptions.RayError as problem:
            self._slots.remove(slot)
            slot.kill()
            self._failed_start(problem)
            return
        if "ready" not in message:
            raise_failure(message)
        self._failed_starts = 0

    def _failed_start(self, problem: Exception) -> None:
        self._failed_starts += 1
        # All slots of a machine fail together when it is switched off; that is one misfortune.
        if self._failed_starts >= _FAILED_STARTS * self._size:
            raise self.stopped(
                f"slots on the Ray cluster end before they are ready ({one_line(problem)}). Every machine of it needs"
                " the same rbench and plugins as this one; run with --executor serial to see whether they work here"
            ) from problem

    def _hand_out(self) -> None:
        for slot in self._slots:
            while slot.room > 0 and (tasks := self._take(slot.batch_size)):
                slot.give(tasks)
        starting = sum(slot.starting is not None for slot in self._slots)
        while len(self._slots) < self._size and self._is_work_for(starting + 1):
            self._slots.append(self._new_slot())
            starting += 1

    def _take(self, number: int) -> list[Task]:
        """The next batch."""
        self._is_work_for(number)
        taken: list[Task] = []
        while self._queue and len(taken) < number and not (taken and (taken[0].alone or self._queue[0].alone)):
            taken.append(self._queue.popleft())
        return taken

    def _is_work_for(self, number: int) -> bool:
        """Whether so many episodes are left; they are then in the queue."""
        wanted = number - len(self._queue)
        if wanted > 0 and not self._exhausted:
            self._connection.send({"next": wanted})
            given = self._inbox.get()["episodes"]
            self._exhausted = len(given) < wanted
            self._queue.extend(map(Task, given))
        return len(self._queue) >= number

    def _new_slot(self) -> SlotHandle:
        actor_class = self._ray.remote(
            num_cpus=share_of_slot(node_cpus(self._ray), self._size),
            max_restarts=0,
            # `stop` and `waiting` come while `run` works.
            concurrency_groups={"control": 1},
        )(Slot)
        actor = actor_class.remote()
        number = next(n for n in count(1) if all(slot.number != n for slot in self._slots))
        return SlotHandle(self._ray, actor, number, actor.start.remote(self._settings))

    def _lost(self, slot: SlotHandle, problem: Exception) -> None:
        """Take a slot that ended out, and deal with the episodes it had."""
        self._slots.remove(slot)
        slot.kill()
        if not slot.unfinished:
            return
        for task in slot.unfinished:
            task.alone = True
        first, *others = slot.unfinished
        self._queue.extendleft(reversed(others))
        first.attempts += 1
        if first.attempts < self._most_attempts:
            self._queue.appendleft(first)
        else:
            seconds = time.monotonic() - slot.began
            self._connection.send({"lost": first.episode, "problem": one_line(problem), "seconds": seconds})

    def _look(self) -> None:
        """Say which slots are at something for long, and stop when no machine is left that could take one."""
        now = self._looked = time.monotonic()
        waiting = tuple(wait for slot in self._slots if (wait := slot.long_wait()) is not None)
        if waiting or self._waiting:
            self._connection.send({"waiting": to_plain(waiting)})
        self._waiting = waiting
        if not self._slots or any(slot.starting is None for slot in self._slots):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since > self._patience and not node_cpus(self._ray):
            raise self.stopped(
                "the Ray cluster has no machine with a processor left; add some (`ray start`), then `rbench resume`"
            )
