"""Executors against each other, in turns: episodes a second once workers are warm, and processor time.

    python benchmarks/executors.py [--executors processes ray] [--agent expert] [--episodes 1200] [--workers 1 2]
        [--rounds 1]

Warm: from the moment that every worker has finished its first episodes to the last episode; starting up, which takes
Ray some seconds more, is left out. On a machine that does other things too, look at the processor time an episode: it
hardly depends on them. The last lines compare the means of all rounds.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
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
    in_workers: list[float] = []

    def note(record: EpisodeRecord) -> None:
        ended.append(time.perf_counter())
        in_workers.append(record.timing["cpu"])

    before = cpu(resource.RUSAGE_SELF)
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
        own_cpu=(cpu(resource.RUSAGE_SELF) - before) / episodes,
        worker_cpu=statistics.fmean(in_workers),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--executors", nargs="+", default=["serial", "processes"], choices=["serial", "processes", "ray"]
    )
    parser.add_argument("--agent", default="expert")
    parser.add_argument("--episodes", type=int, default=1200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=1)
    asked = parser.parse_args()
    settings = [
        (executor, workers)
        for workers in asked.workers
        for executor in asked.executors
        if executor != "serial" or workers == min(asked.workers)
    ]
    rates: dict[tuple[str, int], list[float]] = {setting: [] for setting in settings}
    print(
        f"{asked.agent}, {asked.episodes} episodes, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'executor':10} workers  wall s  warm episodes/s  cpu s/episode: workers  this process")
    for _ in range(asked.rounds):
        for executor, workers in settings:
            m = measure(asked.agent, asked.episodes, executor, workers)
            rates[executor, workers].append(m.warm_rate)
            print(
                f"{executor:10} {workers:>7} {m.wall:>7.1f} {m.warm_rate:>16.2f}"
                f" {m.worker_cpu:>23.4f} {m.own_cpu:>13.4f}   load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    first = statistics.fmean(rates[settings[0]])
    for (executor, workers), found in rates.items():
        mean = statistics.fmean(found)
        print(f"{executor:10} {workers:>7} {mean:>24.2f} warm episodes/s, {mean / first:.3f} of the first setting")


if __name__ == "__main__":
    main()
