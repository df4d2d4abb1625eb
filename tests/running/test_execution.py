"""Where episodes run: names, numbers of workers, cores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rbench.errors import UsageError
from rbench.running.executors import EXECUTORS, Execution, cores_of_quota, usable_cores
from rbench.running.executors.shared_phase import SharedPhase, page_descriptor
from rbench.running.executors.worker_process import Ending
from rbench.running.phases import Phase


@pytest.mark.parametrize("name", EXECUTORS)
def test_every_executor_can_be_loaded(name: str) -> None:
    if name == "ray":
        pytest.importorskip("ray", reason="the extra rbench[ray] is not installed")
    assert callable(Execution(name).load())


def test_an_unknown_executor_is_refused_with_near_names() -> None:
    with pytest.raises(UsageError, match="processes"):
        Execution("process")


def test_no_worker_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Execution("processes", 0)


def test_one_worker_a_usable_core_by_default() -> None:
    assert Execution("processes").at_once == usable_cores()
    assert Execution("processes", 7).at_once == 7
    assert Execution("serial", 7).at_once == 1


@pytest.mark.skipif(sys.platform != "linux", reason="affinity is Linux's")
def test_cores_are_those_of_the_affinity() -> None:
    one = min(os.sched_getaffinity(0))
    code = (
        f"import os; os.sched_setaffinity(0, {{{one}}});"
        " from rbench.running.executors import usable_cores; print(usable_cores())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    ("text", "cores"),
    [("max 100000\n", 64), ("200000 100000\n", 2), ("150000 100000\n", 2), ("", 64), ("nonsense", 64)],
)
def test_a_container_may_have_fewer_cores(tmp_path: Path, text: str, cores: int) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(text)
    assert cores_of_quota(file, 64) == cores
    assert cores_of_quota(tmp_path / "absent", 64) == 64


def test_a_phase_is_read_after_its_process_died() -> None:
    descriptor = page_descriptor()
    phase = SharedPhase(descriptor)
    code = (
        "import os, signal\n"
        "from rbench.running.phases import Phase\n"
        "from rbench.running.executors.shared_phase import SharedPhase\n"
        f"SharedPhase({descriptor}).enter(Phase.AGENT_ACT)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], pass_fds=[descriptor], check=False, timeout=60)
    os.close(descriptor)
    assert phase.now is Phase.AGENT_ACT
    phase.close()


def test_only_agent_code_is_blamed() -> None:
    blamed = {phase for phase in Phase if phase.in_agent}
    starting = {Phase.IMPORTING_AGENT, Phase.MAKING_AGENT}
    assert blamed == {*starting, Phase.AGENT_RESET, Phase.AGENT_ACT, Phase.AGENT_REPORT, Phase.CLOSING_AGENT}
    assert all(phase.words for phase in Phase)


def test_being_told_to_end_is_not_falling() -> None:
    assert Ending("SIGTERM", None).by_request
    assert Ending(None, 143).by_request
    assert not Ending("SIGKILL", None).by_request
    assert not Ending(None, 1).by_request
