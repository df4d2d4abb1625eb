"""What is watched of a worker process, and how it is told from other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rbench.errors import UsageError
from rbench.running.executors import worker_output
from rbench.running.executors.guardian_main import MARK, end_marked, marked_processes
from rbench.running.executors.shared_phase import SharedPhase, page_descriptor
from rbench.running.executors.worker_output import OUTPUT_LIMIT, OutputRelay
from rbench.running.limits import Limits
from rbench.running.phases import Phase
from rbench.running.process_facts import machine_memory, open_files, private_memory
from rbench.running.surroundings import Surroundings

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts Python with some code and waits for its first line."""
    every: list[subprocess.Popen[str]] = []

    def call(code: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", f"{code}; print(flush=True); import time; time.sleep(100)"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        every.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield call
    for process in every:
        process.kill()
        process.communicate()


def test_entering_the_same_phase_again_is_noticed_and_attempts_are_counted() -> None:
    descriptor = page_descriptor()
    worker, run = SharedPhase(descriptor), SharedPhase(descriptor)
    before = run.entries
    worker.enter(Phase.AGENT_ACT)
    worker.enter(Phase.AGENT_ACT)
    assert (run.now, run.entries - before, run.attempts) == (Phase.AGENT_ACT, 2, 0)
    worker.begin()
    assert run.attempts == 1
    os.close(descriptor)
    worker.close()
    run.close()


@linux
def test_memory_counts_what_a_process_and_its_children_keep_for_themselves(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    small, large = start("pass"), start("kept = b'x' * 200_000_000")
    assert private_memory(small.pid) < 50e6
    assert 200e6 < private_memory(large.pid) < 250e6
    assert private_memory(os.getpid()) > 200e6  # they are its children
    large.kill()
    large.wait()
    assert private_memory(large.pid) == 0


@linux
def test_open_files_are_counted(start: Callable[..., subprocess.Popen[str]]) -> None:
    few, many = start("pass"), start("kept = [open('/dev/null') for _ in range(50)]")
    assert open_files(many.pid) - open_files(few.pid) == 50
    assert open_files(0) == 0


def test_a_container_may_have_less_memory_than_the_machine(tmp_path: Path) -> None:
    file = tmp_path / "memory.max"
    for text, least in (("max\n", True), ("1000000\n", False)):
        file.write_text(text)
        memory = machine_memory((tmp_path / "absent", file))
        assert memory is not None
        assert (memory > 1_000_000) is least
    assert memory == 1_000_000


@linux
def test_the_peak_of_a_process_is_not_that_of_the_one_that_started_it() -> None:
    code = "from rbench.running.process_facts import peak_memory; print(peak_memory())"
    grown = (
        f"import subprocess, sys; b = bytearray(b'1') * 400_000_000; subprocess.run([sys.executable, '-c', '{code}'])"
    )
    for script in (code, grown):
        printed = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True).stdout
        assert 5e6 < int(printed) < 100e6


@linux
def test_processes_are_found_by_their_mark_and_by_no_other(start: Callable[..., subprocess.Popen[str]]) -> None:
    own, other = start("pass", **{MARK: "run-a.1"}), start("pass", **{MARK: "run-ab.1"})
    assert marked_processes("run-a") == [own.pid]
    assert marked_processes("run-a.1") == [own.pid]
    assert marked_processes("run-a.2") == []
    end_marked("run-a")
    assert own.wait(10) == -9
    assert other.poll() is None


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Lets a worker print pieces, an episode each, and returns what reached stderr."""
    file = tmp_path / "stderr"
    with file.open("wb") as stderr:
        monkeypatch.setattr(worker_output, "_STDERR", stderr.fileno())

        def passed_on(*episodes: bytes) -> str:
            reading, writing = os.pipe()
            output = OutputRelay(reading, "worker 1")
            for printed in episodes:
                os.write(writing, printed) if len(printed) < 60_000 else write_all(writing, printed)
                time.sleep(0.3)
                output.next_episode()
            os.close(writing)
            output.close()
            return file.read_text()

        yield passed_on


def write_all(descriptor: int, data: bytes) -> None:
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)


def test_what_is_printed_arrives_as_it_was(relay: Callable[..., str]) -> None:
    assert relay(b"one\ntwo\n", b"three\nfour") == "one\ntwo\nthree\nfour"


def test_each_episode_has_a_bound_of_its_own(relay: Callable[..., str]) -> None:
    line = b"x" * 99 + b"\n"
    text = relay(line * 5000, line, line * 2000)
    assert text.count("x" * 99 + "\n") == OUTPUT_LIMIT // 100 * 2 + 1
    notes = [line for line in text.splitlines() if line.startswith("note:")]
    assert notes == [
        "note: worker 1 printed 0.5 MB in one episode; 0.4 MB of it were dropped",
        "note: worker 1 printed 0.2 MB in one episode; 0.1 MB of it were dropped",
    ]


def test_a_pipe_that_somebody_keeps_open_is_not_waited_for(relay: Callable[..., str]) -> None:
    reading, writing = os.pipe()
    output = OutputRelay(reading, "worker 1")
    os.write(writing, b"last\n")
    closing = threading.Thread(target=output.close)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()
    os.close(writing)


@pytest.mark.parametrize("wrong", [{"episode": -1.0}, {"start": float("nan")}, {"memory": float("inf")}])
def test_a_limit_is_a_number_of_0_or_more(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="0 is no limit"):
        Limits(**wrong)


def test_surroundings_come_back(tmp_path: Path) -> None:
    surroundings = Surroundings()
    folder = Path.cwd()
    os.chdir(tmp_path)
    os.umask(0o77)
    surroundings.restore()
    assert Path.cwd() == folder
    mask = os.umask(0o22)
    os.umask(mask)
    assert mask != 0o77
