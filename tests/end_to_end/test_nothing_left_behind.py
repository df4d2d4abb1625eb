"""After a run, however it ended, nothing that it or its agents started is left: no process, no port, no flood."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = [
    "run", "roboview-bias", "--agent", "agents_that_misbehave:Misbehaves", "-o", "always=true",
    "--executor", "processes", "--workers", "2",
]  # fmt: skip


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """Marks what is started from here on; lists those processes that still run, wherever they have gone."""
    mark = secrets.token_hex(8)
    monkeypatch.setenv("LEFT_BEHIND", mark)

    def processes() -> list[int]:
        found = []
        for file in Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"LEFT_BEHIND={mark}".encode() in file.read_bytes().split(b"\0"):
                    found.append(int(file.parent.name))
            except OSError:
                continue
        return [process for process in found if process != os.getpid()]

    return processes


def wait_until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
    return true()


def ports(trace: Path) -> list[int]:
    left = trace.with_name(trace.name + ".left")
    return [int(line.split()[0]) for line in left.read_text().splitlines()] if left.exists() else []


def taken(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


ENDINGS = {
    "Ctrl-C": (signal.SIGINT, True, 130),
    "SIGTERM": (signal.SIGTERM, False, 143),
    "SIGHUP": (signal.SIGHUP, False, 129),
    "kill -9": (signal.SIGKILL, False, -9),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_outlives_a_run_that_is_ended(
    start_rbench: Callable[..., Any], marked: Callable[[], list[int]], tmp_path: Path, ending: str
) -> None:
    number, group, code = ENDINGS[ending]
    trace = tmp_path / "trace"
    started = start_rbench(*ARGUMENTS, "-o", "how=leave_behind_and_hang", "-o", f"trace={trace}", "--limit", "4")
    assert wait_until(lambda: len(ports(trace)) == 2, 60)
    assert all(map(taken, ports(trace)))
    # The run, its guardian, two workers, and three children of each.
    assert len(marked()) == 10
    started.end(number, group)
    assert started.ended().code == code
    assert wait_until(lambda: marked() == [], 15)
    assert wait_until(lambda: not any(map(taken, ports(trace))), 15)  # the system closes them last


@pytest.mark.parametrize("how", ["leave_behind", "leave_behind_and_exit"])
def test_nothing_outlives_a_run_that_ends_by_itself(
    start_rbench: Callable[..., Any], marked: Callable[[], list[int]], tmp_path: Path, how: str
) -> None:
    trace = tmp_path / "trace"
    ran = start_rbench(*ARGUMENTS, "-o", f"how={how}", "-o", f"trace={trace}", "--limit", "4").ended()
    assert ran.code == (0 if how == "leave_behind" else 1)
    assert len(ports(trace)) == 4
    assert wait_until(lambda: marked() == [], 15)
    assert wait_until(lambda: not any(map(taken, ports(trace))), 15)


def test_a_gigabyte_of_output_is_not_passed_on(start_rbench: Callable[..., Any], tmp_path: Path) -> None:
    agent = ["-o", "how=print_much", "-o", "amount=300"]
    ran = start_rbench(*ARGUMENTS, *agent, "--limit", "4").ended()
    assert ran.code == 0, ran.err[-2000:]
    assert ran.err.count("first line") == 4
    assert len(ran.err) < 1_000_000
    assert ran.err.count("printed 300.0 MB in one episode; 299.9 MB of it were dropped") == 4
    assert "note: worker 1 printed" in ran.err


def test_what_is_printed_by_an_agent_that_dies_is_there_to_read(start_rbench: Callable[..., Any]) -> None:
    ran = start_rbench(*ARGUMENTS, "-o", "how=print_and_exit", "--limit", "2").ended()
    assert ran.code == 1
    assert ran.err.count("last words") == 2
