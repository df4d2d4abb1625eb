"""The first interrupt goes through; what follows at once does not."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from rbench.running import interrupts
from rbench.running.interrupts import first_interrupt_only


@pytest.fixture(autouse=True)
def _handlers_come_back() -> object:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_second_of_two_interrupts_does_not_disturb_the_end() -> None:
    ended = False
    with pytest.raises(KeyboardInterrupt), first_interrupt_only():
        try:
            interrupt()
        finally:
            interrupt()
            ended = True
    interrupt()  # still too soon
    assert ended


def test_a_later_interrupt_goes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_SAME", 0.0)
    with pytest.raises(KeyboardInterrupt), first_interrupt_only():
        try:
            interrupt()
        except KeyboardInterrupt:
            interrupt()


def test_handlers_are_put_back_after_a_quiet_run() -> None:
    before = signal.getsignal(signal.SIGINT)
    with first_interrupt_only():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_handlers_do_not_pile_up_over_interrupted_runs() -> None:
    before = signal.getsignal(signal.SIGINT)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), first_interrupt_only():
            interrupt()
    with first_interrupt_only():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_that_nobody_handles_is_left_alone() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with first_interrupt_only():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_other_threads_leave_signals_alone() -> None:
    seen = []

    def look() -> None:
        with first_interrupt_only():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
