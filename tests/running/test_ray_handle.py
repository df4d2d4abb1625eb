"""When a slot is asked what it is at, and what is told of that. Needs no Ray."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rbench.running.executors import Waiting, ray_handle
from rbench.running.executors.messages import packed
from rbench.running.executors.ray_handle import SlotHandle, Task
from rbench.values import to_plain


class Ray:
    """Of the module `ray` what a handle uses; a reference is the answer itself, or None until there is one."""

    exceptions = SimpleNamespace(RayError=ConnectionError)

    def __init__(self) -> None:
        self.answer: Any = None
        self.asked = 0

    def remote(self, *_: Any) -> Any:
        self.asked += 1
        return self

    def options(self, **_: Any) -> Ray:
        return self

    def wait(self, references: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return (references, []) if self.answer is not None else ([], references)

    def get(self, reference: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def ray() -> Ray:
    return Ray()


@pytest.fixture
def slot(ray: Ray, monkeypatch: pytest.MonkeyPatch) -> SlotHandle:
    """The third slot, which has had an episode for longer than is usual."""
    monkeypatch.setattr(ray_handle, "LONG_WAIT", 0.0)
    handle = SlotHandle(ray, SimpleNamespace(run=ray, waiting=ray), 3, None)
    handle.give([Task({})])
    ray.asked = 0
    return handle


def said(*waiting: Waiting) -> bytes:
    return packed({"waiting": to_plain(waiting)})


def test_what_a_slot_says_is_told_under_its_number(ray: Ray, slot: SlotHandle) -> None:
    assert slot.long_wait() is None
    ray.answer = said(Waiting(1, "in act()", 12.0))
    assert slot.long_wait() == Waiting(3, "in act()", 12.0)
    assert slot.long_wait() == Waiting(3, "in act()", 12.0)


def test_a_slot_that_has_gone_on_is_not_told_any_more(ray: Ray, slot: SlotHandle) -> None:
    slot.long_wait()
    ray.answer = said(Waiting(1, "in act()", 12.0))
    slot.long_wait()
    ray.answer = said()
    slot.long_wait()
    assert slot.long_wait() is None


def test_a_slot_is_asked_once_until_it_answers(ray: Ray, slot: SlotHandle) -> None:
    for _ in range(5):
        slot.long_wait()
    assert ray.asked == 1


def test_a_slot_that_sends_results_is_not_asked(ray: Ray, slot: SlotHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_handle, "LONG_WAIT", 60.0)
    assert slot.long_wait() is None
    assert ray.asked == 0


def test_a_slot_with_nothing_to_do_waits_for_nothing(ray: Ray, slot: SlotHandle) -> None:
    slot.batches.clear()
    assert slot.long_wait() is None
    assert ray.asked == 0


def test_a_slot_that_is_lost_while_it_is_asked_is_no_error_here(ray: Ray, slot: SlotHandle) -> None:
    slot.long_wait()
    ray.answer = ConnectionError("lost")
    assert slot.long_wait() is None


def test_a_slot_that_gets_no_place_is_told_without_asking(ray: Ray, slot: SlotHandle) -> None:
    slot.starting = object()
    told = slot.long_wait()
    assert told is not None
    assert told.doing == "getting a place on the cluster"
    assert ray.asked == 0
