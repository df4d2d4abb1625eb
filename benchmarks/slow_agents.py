"""More workers than cores, for an agent that waits for a network.

    python benchmarks/slow_agents.py [--pause 0.2] [--calls 30] [--episodes 96] [--workers 1 2 4 8 16]

The agent sleeps in each act() and stays where it is, as one that asks a policy server would. Warm: from the moment
that every worker has finished its first episode to the last. Perfect: as many times one worker as there are workers.
Memory is what a worker keeps for itself, at most; mapped libraries, which workers share, do not count.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread

import rbench
from rbench import Agent, AgentManifest, CameraRequest, JointPositions, Stop
from rbench.record import EpisodeRecord
from rbench.running.process_facts import private_memory

FOLDER = Path(__file__).resolve().parent


class Sleeper(Agent):
    """Waits, and holds the arm still for a tick."""

    def __init__(self, options: object, context: object) -> None:
        self.pause = float(os.environ["SLOW_AGENTS_PAUSE"])
        self.calls = int(os.environ["SLOW_AGENTS_CALLS"])

    @property
    def manifest(self) -> AgentManifest:
        return AgentManifest(actions=("joint_positions",), cameras={"front": CameraRequest(48, 64)})

    def reset(self, start: object) -> None:
        self.left = self.calls

    def act(self, observation):  # type: ignore[no-untyped-def]
        time.sleep(self.pause)
        self.left -= 1
        if self.left < 1:
            return Stop("done")
        row = [*observation.joint_positions, observation.gripper]
        return JointPositions([row])


def measure(episodes: int, workers: int) -> tuple[float, int]:
    """Episodes a second once workers are warm, and the most bytes that one had."""
    ended: list[float] = []
    most, over = 0, Event()

    def note(record: EpisodeRecord) -> None:
        assert record.error is None, record.error
        ended.append(time.perf_counter())

    def look() -> None:
        nonlocal most
        while not over.wait(0.5):
            for file in Path("/proc/self/task").glob("*/children"):
                most = max([most, *map(private_memory, map(int, file.read_text().split()))])

    watcher = Thread(target=look)
    watcher.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            rbench.run(
                "roboview-bias",
                "slow_agents:Sleeper",
                dimensions=["color"],
                limit=episodes,
                workers=workers,
                out=Path(folder) / "run",
                on_finished=note,
            )
    finally:
        over.set()
        watcher.join()
    return (episodes - workers) / (ended[-1] - ended[workers - 1]), most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds in each act()")
    parser.add_argument("--calls", type=int, default=30, help="calls of act() an episode")
    parser.add_argument("--episodes", type=int, default=96)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    given = parser.parse_args()
    os.chdir(FOLDER)
    sys.path.insert(0, str(FOLDER))
    os.environ["SLOW_AGENTS_PAUSE"], os.environ["SLOW_AGENTS_CALLS"] = str(given.pause), str(given.calls)
    print(f"{given.calls} calls of {given.pause} s an episode, {len(os.sched_getaffinity(0))} cores")
    print("workers  episodes/s  of perfect  MB a worker")
    one = 0.0
    for workers in given.workers:
        # Few workers need fewer episodes for the same time.
        rate, memory = measure(max(2 * workers, given.episodes * workers // max(given.workers)), workers)
        one = one or rate / workers
        print(f"{workers:7}  {rate:10.2f}  {100 * rate / (one * workers):8.0f} %  {memory / 1e6:11.0f}", flush=True)


if __name__ == "__main__":
    main()
