"""SIGKILL at random moments over a run and its resumes: nothing lost, nothing twice, nothing different, nothing left.

    python benchmarks/kills.py [--executor processes] [--kills 30] [--episodes 60] [--workers 2] [--seed 0]

Kills fall while the run starts, in its middle, while it is resumed, and at its end; half of them hit the whole process
group, half the leading process alone. In the end the run is compared with one that nobody disturbed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import rbench
from rbench.record import identical

#: Seconds from the start of a command within which it is killed before it has done anything, by executor.
STARTING = {"processes": 3.0, "serial": 2.0, "ray": 9.0}

#: Seconds after which a process that outlived the one that leads it counts as left behind. Two agents of Ray's
#: own look only now and then whether their raylet lives.
ORPHANED = 60.0


class Killed:
    """A command of rbench in a session of its own."""

    def __init__(self, words: list[str], log: Path) -> None:
        self._log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rbench", *words], stdout=file, stderr=file, start_new_session=True
            )

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def kill(self, group: bool) -> None:
        (os.killpg if group else os.kill)(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def output(self) -> str:
        return self._log.read_text(errors="replace")

    def left(self) -> list[str]:
        """Processes of the session that still run some time after its end."""
        deadline = time.monotonic() + ORPHANED
        while (found := self._session()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def _session(self) -> list[str]:
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
                command = (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if int(session) == self.process.pid and state != "Z":
                found.append(f"{stat.parent.name} {command[:100]}")
        return found


def on_disk(directory: Path) -> int:
    try:
        return rbench.open_run(directory).counts()["done"]
    except rbench.RbenchError:  # it is only being made, or not yet
        return 0


def wait_for(command: Killed, directory: Path, done: int) -> None:
    while command.runs and on_disk(directory) < done:
        time.sleep(0.02)


def stored(directory: Path) -> dict[str, tuple[Any, bytes]]:
    run = rbench.open_run(directory)
    with run.store(readonly=True) as store:
        records = list(store.records())
        assert len({r.episode for r in records}) == len(records), "an episode is there twice"
        return {r.episode: (r, store.trajectory(r.episode).to_bytes()) for r in records}


def moment(number: int, kills: int) -> str:
    """When the kill falls: the first in the start, the last ones at the end, the others in turns."""
    if number == 0:
        return "start"
    if number >= kills - max(1, kills // 6):
        return "end"
    return ("middle", "resume")[number % 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executor", default="processes", choices=sorted(STARTING))
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--agent", default="random")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    dice = random.Random(asked.seed)
    # Versions without what git knows: a commit between two resumes is a change, and would be refused.
    os.environ["GIT_DIR"] = os.devnull
    folder = tempfile.TemporaryDirectory()
    directory, undisturbed = Path(folder.name, "run"), Path(folder.name, "undisturbed")
    log = Path(folder.name, "log")
    common = ["run", "roboview-bias", "--agent", asked.agent, "--limit", str(asked.episodes)]
    subprocess.run(
        [sys.executable, "-m", "rbench", *common, "--executor", "serial", "--out", str(undisturbed)],
        check=True, capture_output=True,
    )  # fmt: skip
    begin = [*common, "--executor", asked.executor, "--workers", str(asked.workers), "--out", str(directory)]
    resume = ["resume", str(directory), "--workers", str(asked.workers)]

    moments: Counter[str] = Counter()
    left: list[str] = []
    kept: set[str] = set()
    began = time.monotonic()
    for number in range(asked.kills):
        when, group = moment(number, asked.kills), dice.random() < 0.5
        command = Killed(resume if (directory / "manifest.json").exists() else begin, log)
        before = on_disk(directory)
        if when in ("start", "resume"):
            time.sleep(dice.uniform(0.0, STARTING[asked.executor]))
        elif when == "middle":
            wait_for(command, directory, min(before + dice.randint(1, 3), asked.episodes))
            time.sleep(dice.uniform(0.0, 0.2))
        else:
            wait_for(command, directory, asked.episodes - dice.randint(0, 2))
            time.sleep(dice.uniform(0.0, 0.5))
        if command.runs:
            command.kill(group)
            moments[when] += 1
        elif command.process.returncode:
            raise SystemExit(f"it ended by itself: {command.output()}")
        else:
            moments["had ended"] += 1
        left += command.left()
        there = {e.episode for e in rbench.open_run(directory).episodes()} if on_disk(directory) else set()
        assert kept <= there, f"lost: {sorted(kept - there)}"
        kept = there
        print(
            f"{number + 1:>3} {when:7} {'group' if group else 'alone':6} {before:>3} -> {len(kept):>3} episodes",
            flush=True,
        )
    ended = Killed(resume, log)
    ended.process.wait()
    if ended.process.returncode:
        raise SystemExit(f"the last resume failed: {ended.output()}")
    left += ended.left()
    found, expected = stored(directory), stored(undisturbed)
    same = sum(
        name in found and identical(record, found[name][0]) and blob == found[name][1]
        for name, (record, blob) in expected.items()
    )
    result = {
        "executor": asked.executor,
        "kills": dict(moments),
        "episodes": len(found),
        "identical": same,
        "processes left": len(left),
        "seconds": round(time.monotonic() - began),
    }
    print(json.dumps(result))
    for line in left:
        print(f"left: {line}")
    sys.exit(0 if same == len(found) == asked.episodes and not left else 1)


if __name__ == "__main__":
    main()
