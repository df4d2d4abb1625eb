"""What is said of a worker that was killed from outside: what speaks for a lack of memory, and nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rbench.running.executors import watchdog
from rbench.running.executors.watchdog import Watchdog
from rbench.running.executors.worker_process import Ending, Exceeded
from rbench.running.limits import Limits


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """How many processes the system has ended."""
    counter = SimpleNamespace(number=3)
    monkeypatch.setattr(watchdog, "out_of_memory_kills", lambda: counter.number)
    return counter


@pytest.fixture
def dog(kills: SimpleNamespace) -> Watchdog:
    return Watchdog(Limits(memory=1000.0), 1)


def worker(megabytes: float) -> Any:
    return SimpleNamespace(memory=int(megabytes * 1e6))


KILLED = Ending("SIGKILL", None)


def test_a_kill_at_a_time_when_the_system_ended_a_process_is_told_so(dog: Watchdog, kills: SimpleNamespace) -> None:
    dog.look()
    kills.number += 1
    dog.look()
    told = str(dog.explained(KILLED, worker(120)))
    assert told == "signal SIGKILL, when the system ended a process for lack of memory; it used 120 MB shortly before"


def test_what_the_system_ended_long_before_explains_nothing(dog: Watchdog, kills: SimpleNamespace) -> None:
    kills.number += 1
    for _ in range(10):
        dog.look()
    assert str(dog.explained(KILLED, worker(120))) == "signal SIGKILL"


def test_a_large_worker_that_is_killed_is_told_how_large_it_was(dog: Watchdog) -> None:
    told = str(dog.explained(KILLED, worker(800)))
    assert told == "signal SIGKILL, perhaps from the system, for lack of memory; it used 800 MB shortly before"


@pytest.mark.parametrize(
    "ending",
    [Ending("SIGSEGV", None), Ending(None, 7), Ending("SIGKILL", None, Exceeded("memory", 1000, "more than 1000 MB"))],
)
def test_other_endings_have_nothing_to_do_with_it(dog: Watchdog, kills: SimpleNamespace, ending: Ending) -> None:
    kills.number += 1
    assert dog.explained(ending, worker(900)) == ending
