"""A slot of a Ray cluster (`ray_slot`), seen from the dispatcher."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from rbench.running.executors import Waiting
from rbench.running.executors.messages import Message, packed, unpacked
from rbench.running.executors.watchdog import LONG_WAIT
from rbench.values import from_plain

#: Batches hold about so many seconds of episodes: handing one out takes milliseconds, and losing one costs that much.
BATCH_SECONDS, LARGEST_BATCH = 1.0, 64

#: Slots whose episodes take less (s) have a batch ahead, so that they never wait for the network. With longer ones the
#: wait is nothing, and the last episodes of a run are spread better.
AHEAD_BELOW = 10.0

#: What a slot is at that has not said that it is ready.
_STARTING = "getting a place on the cluster"


@dataclass(eq=False)
class Task:
    """An episode as plain data.

    Attributes:
        attempts: how many slots were lost that were at it, as far as that is known.
        alone: it was in a slot that was lost, and is given to one alone: whether that was at it, or had finished it
            and not said so yet, is then known.
    """

    episode: Message
    attempts: int = 0
    alone: bool = False


@dataclass
class Batch:
    """Episodes handed to a slot together: what it answers, and which of them it has not finished."""

    answers: Any
    tasks: deque[Task]
    size: int


@dataclass(eq=False)
class SlotHandle:
    """A slot.

    Attributes:
        number: from 1; what its worker is called.
        starting: the answer to its start, until that has come.
        batches: what it was given and has not finished; it works on the first.
        began: when it began with the first batch.
        seconds: what an episode of its last batch took.
        heard: when something last came from it, or it was last given something after it had nothing.
    """

    ray: Any
    actor: Any
    number: int
    starting: Any
    batches: deque[Batch] = field(default_factory=deque)
    began: float = 0.0
    seconds: float | None = None
    heard: float = field(default_factory=time.monotonic)
    _asked: Any = None
    _waiting: Waiting | None = None

    @property
    def next_answer(self) -> Any:
        """What Ray is to wait for; None while it has nothing to do."""
        if self.starting is not None:
            return self.starting
        return self.batches[0].answers if self.batches else None

    @property
    def batch_size(self) -> int:
        """How many episodes it should get at once."""
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

    @property
    def unfinished(self) -> list[Task]:
        """All that it has; it is at the first."""
        return [task for batch in self.batches for task in batch.tasks]

    def give(self, tasks: list[Task]) -> None:
        """Hand it a batch, behind those it has."""
        order = packed({"episodes": [task.episode for task in tasks]})
        answers = self.actor.run.options(num_returns="streaming").remote(order)
        if not self.batches:
            self.began = self.heard = time.monotonic()
        self.batches.append(Batch(answers, deque(tasks), len(tasks)))

    def started(self) -> Message:
        """What it said to its start, which has come. Raises RayError: it is lost."""
        message, _ = unpacked(self.ray.get(self.starting))
        self.starting, self.heard = None, time.monotonic()
        return message

    def received(self) -> bytes | None:
        """The messages that have come of its first batch; None when it is over. Raises RayError: the slot is lost."""
        self.heard = time.monotonic()
        try:
            answer: bytes = self.ray.get(next(self.batches[0].answers))
            return answer
        except StopIteration:
            self.seconds = (self.heard - self.began) / self.batches.popleft().size
            self.began = self.heard
            return None

    def finished_one(self) -> None:
        """The first of its episodes is finished."""
        self.batches[0].tasks.popleft()

    def long_wait(self) -> Waiting | None:
        """What it is at, if it has been at it for long.

        A slot from which nothing came for long is asked; what it says is known at the next look.
        """
        silent = time.monotonic() - self.heard
        if silent < LONG_WAIT or self.next_answer is None:
            self._waiting = None
        elif self.starting is not None:
            self._waiting = Waiting(self.number, _STARTING, silent)
        elif self._asked is None:
            self._asked = self.actor.waiting.options(concurrency_group="control").remote()
        elif self.ray.wait([self._asked], timeout=0)[0]:
            with suppress(self.ray.exceptions.RayError):  # a slot that is lost says so in its answers
                said = from_plain(tuple[Waiting, ...], unpacked(self.ray.get(self._asked))[0]["waiting"])
                self._waiting = replace(said[0], worker=self.number) if said else None
            self._asked = None
        return self._waiting

    def kill(self) -> None:
        """End it, whatever it does."""
        with suppress(self.ray.exceptions.RayError, ValueError):
            self.ray.kill(self.actor)
