"""Serial and worker processes against each other: episodes a second once workers are warm, and processor time.

    python benchmarks/executors.py [--agent expert] [--episodes 1200] [--workers 1 2] [--rounds 1]

Warm: from the moment that every worker has finished its first episodes to the last episode. On a machine that does
other things too, look at the processor time an episode: it hardly depends on them.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import rbench
from rbench.record import EpisodeRecord


@dataclass
class Measured:
    wall: float
    warm_rate: float
    own_cpu: float
    worker_cpu: float


def cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def measure(agent: str, episodes: int, executor: str, workers: int) -> Measured:
    """Run once; processor seconds are an episode's share."""
    ended: list[float] = []

    def note(record: EpisodeRecord) -> None:
        ended.append(time.perf_counter())

    before = cpu(resource.RUSAGE_SELF), cpu(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        rbench.run(
            "roboview-bias",
            agent,
            limit=episodes,
            executor=executor,
            workers=workers,
            out=Path(folder) / "run",
            on_finished=note,
        )
    wall = time.perf_counter() - began
    cold = max(20, episodes // 10)
    return Measured(
        wall=wall,
        warm_rate=(episodes - cold) / (ended[-1] - ended[cold - 1]),
        own_cpu=(cpu(resource.RUSAGE_SELF) - before[0]) / episodes,
        worker_cpu=(cpu(resource.RUSAGE_CHILDREN) - before[1]) / episodes,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", default="expert")
    parser.add_argument("--episodes", type=int, default=1200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--serial", action="store_true")
    asked = parser.parse_args()
    settings = [("serial", 1)] if asked.serial else []
    settings += [("processes", workers) for workers in asked.workers]
    print(
        f"{asked.agent}, {asked.episodes} episodes, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'executor':10} workers  wall s  warm episodes/s  cpu s/episode: workers  this process")
    for _ in range(asked.rounds):
        for executor, workers in settings:
            m = measure(asked.agent, asked.episodes, executor, workers)
            print(
                f"{executor:10} {workers:>7} {m.wall:>7.1f} {m.warm_rate:>16.2f}"
                f" {m.worker_cpu:>23.4f} {m.own_cpu:>13.4f}   load {os.getloadavg()[0]:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
