"""The system's own out-of-memory killer takes a worker: it costs one episode, whose record says so.

In a control group of our own with little memory, which takes rights that users rarely have.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import rbench

pytestmark = pytest.mark.gl

HERE = Path(__file__).resolve().parent

#: Where control groups are made, and the file of their limit: version 1, version 2.
_KINDS = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"))

#: Megabytes: enough for a run of two workers, and less than the agent then wants.
_LIMIT, _WANTED = 1500, 3000


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with little memory."""
    made = None
    for top, limit in _KINDS:
        folder = Path(top, f"rbench-test-{os.getpid()}")
        try:
            folder.mkdir()
            made = folder
            (folder / limit).write_text(str(_LIMIT * 1_000_000))
            break
        except OSError:
            continue
    else:
        with suppress(OSError):
            if made is not None:
                made.rmdir()
        pytest.skip(
            "no control group for memory can be made here; that takes a root user with a writable /sys/fs/cgroup"
        )
    with suppress(OSError):  # where there is swap
        (folder / "memory.swap.max").write_text("0")
    yield folder
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            folder.rmdir()
            return
        except OSError:  # its last processes are still ending
            time.sleep(0.1)
    raise AssertionError(f"{folder} still has processes: {(folder / 'cgroup.procs').read_text()}")


def test_a_worker_that_the_system_ends_for_lack_of_memory_costs_one_episode(
    group: Path, drawn: Callable[..., float], planned: Callable[..., Any], tmp_path: Path
) -> None:
    third = planned(3)[2]
    agent = ["--agent", "agents_that_misbehave:Misbehaves", "-o", "how=allocate", "-o", f"at={drawn(third)!r}"]
    agent += ["-o", f"amount={_WANTED}", "-o", f"trace={tmp_path / 'trace'}"]
    words = ["run", "roboview-bias", *agent, "--limit", "6", "--executor", "processes", "--workers", "2"]
    words += ["--worker-memory", "0", "--out", str(tmp_path / "run")]
    ran = subprocess.run(
        ["/bin/sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" -m rbench "$@"', sys.executable, *words],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1, ran.stderr
    records = {e.episode: e for e in rbench.open_run(tmp_path / "run").episodes()}
    assert len(records) == 6
    lost = records.pop(third.id)
    assert (lost.outcome, lost.reason) == ("agent_error", "worker_lost")
    assert lost.agent["lost"] == {"phase": "agent_act", "signal": "SIGKILL", "status": None}
    assert lost.error is not None
    assert "in act() (signal SIGKILL, when the system ended a process for lack of memory; it used " in lost.error
    assert [(e.outcome, e.error) for e in records.values()] == [("failure", None)] * 5
    began = (tmp_path / "trace").read_text().splitlines()
    assert set(began) == {repr(drawn(e)) for e in planned(6)}
    # The system may take the other worker too, before the memory of the first is free: what that had is tried again.
    assert began.count(repr(drawn(third))) == 1
