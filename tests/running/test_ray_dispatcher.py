"""What becomes of the episodes of a slot that is lost. Needs no Ray."""

from __future__ import annotations

from collections import deque
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from rbench.running.executors.ray_dispatcher import _Dispatcher
from rbench.running.executors.ray_handle import Batch, SlotHandle

LOST = ConnectionError("gone")


class Run:
    """The run: has so many episodes, and notes what it is told."""

    def __init__(self, episodes: str) -> None:
        self.left = list(episodes)
        self.inbox: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.lost: list[str] = []

    def send(self, message: dict[str, Any]) -> None:
        if "next" in message:
            number = message["next"]
            self.inbox.put({"episodes": [{"id": each} for each in self.left[:number]]})
            del self.left[:number]
        else:
            self.lost.append(message["lost"]["id"])


@pytest.fixture
def run() -> Run:
    return Run("abcdef")


@pytest.fixture
def dispatcher(run: Run) -> Any:
    errors = SimpleNamespace(RayError=ConnectionError)
    ray: Any = SimpleNamespace(nodes=list, put=lambda data: data, kill=lambda actor: None, exceptions=errors)
    order = {"slots": 1, "attempts": 3, "patience": 30.0, "settings": {}}
    connection: Any = run
    return _Dispatcher(ray, order, connection, run.inbox)


def lose(dispatcher: Any, *batches: Any) -> None:
    """A slot with these batches is lost."""
    slot = SlotHandle(dispatcher._ray, None, 1, None)
    slot.batches.extend(Batch(None, deque(batch), len(batch)) for batch in batches)
    dispatcher._slots.append(slot)
    dispatcher._lost(slot, LOST)


def taken(dispatcher: Any, number: int = 3) -> Any:
    return dispatcher._take(number)


def names(batch: Any) -> list[str]:
    return [task.episode["id"] for task in batch]


def test_what_was_lost_together_is_given_out_one_by_one_and_first(dispatcher: Any) -> None:
    lose(dispatcher, taken(dispatcher, 2), taken(dispatcher, 2))
    batches = [names(taken(dispatcher)) for _ in range(5)]
    assert batches == [["a"], ["b"], ["c"], ["d"], ["e", "f"]]


def test_an_episode_is_given_up_when_slots_that_had_it_alone_were_lost(dispatcher: Any, run: Run) -> None:
    lose(dispatcher, taken(dispatcher, 2))
    finished = taken(dispatcher)
    for _ in range(3):
        assert run.lost == []
        lose(dispatcher, taken(dispatcher))
    assert names(finished) == ["a"]
    assert run.lost == ["b"]


def test_an_episode_behind_another_is_not_blamed(dispatcher: Any, run: Run) -> None:
    first, second = taken(dispatcher, 1), taken(dispatcher, 1)
    for _ in range(3):
        lose(dispatcher, first, second)
        taken(dispatcher, 1)
    assert run.lost == ["a"]
    assert [task.attempts for task in second] == [0]


def test_a_slot_that_is_lost_with_nothing_to_do_costs_nothing(dispatcher: Any, run: Run) -> None:
    lose(dispatcher)
    assert names(taken(dispatcher)) == ["a", "b", "c"]
