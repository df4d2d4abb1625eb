"""Where rbench's own share of an episode goes, and what the same work takes when nothing else comes between.

    python benchmarks/episode_parts.py [--episodes 60] [--rounds 5]

"In a run": CPU time of each part while episodes run, the least of the rounds, the clocks included. Physics pushes
Python's code and data out of the processor's nearest caches, and Python those of the physics: what `mj_step` takes
beyond the raw loop is a part, too. "Repeated": the same calls in a row, a bound for any other order of the same work.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mujoco
from episode_share import Bench, Clock

from rbench.design import Episode
from rbench.record import Trajectory
from rbench.results import store as store_module
from rbench.results.store import EpisodeStore
from rbench.running.episode import EpisodeRunner, Finished
from rbench.running.jitter import block_jitter
from rbench.running.unplayed import unplayed_record
from rbench.scene import jittered
from rbench.simulation import world as world_module
from rbench.simulation.world import SETTLE_STEPS
from rbench.tasks.monitor import TaskMonitor

PARTS = ("scene", "reset", "ticks", "physics beyond the raw loop", "record", "store")


class Watches:
    """Clocks in the parts of an episode."""

    def __init__(self, bench: Bench) -> None:
        self.step, self.scene, self.reset, self.follow = Clock(), Clock(), Clock(), Clock()
        self.record, self.store = Clock(), Clock()
        physics = SimpleNamespace(**vars(mujoco))
        self.step.watch(physics, "mj_step")
        vars(world_module)["mujoco"] = physics
        self.scene.watch(bench.worker.runner.manager, "setup")
        self.reset.watch(bench.world, "reset")
        self.follow.watch(EpisodeRunner, "_follow")
        self.record.watch(EpisodeRunner, "_finish")
        self.store.watch(EpisodeStore, "append")

    @property
    def clocks(self) -> tuple[Clock, ...]:
        return self.step, self.scene, self.reset, self.follow, self.record, self.store


def in_a_run(bench: Bench, rounds: int) -> list[float]:
    """Milliseconds an episode of each part."""
    watches, settle = Watches(bench), settling(bench)
    watched = (*watches.clocks, bench.controller, bench.agent)
    rows: list[list[float]] = []
    for number in range(1, rounds + 1):
        before = [clock.seconds for clock in watched]
        bench.rbench(number)
        step, scene, reset, follow, record, store, controller, _ = (
            clock.seconds - begun for clock, begun in zip(watched, before, strict=True)
        )
        raw = bench.raw()
        rows.append([scene, reset - settle, follow - (step - settle) - controller, step - raw, record, store])
    return [1e3 * min(column) / len(bench.episodes) for column in zip(*rows, strict=True)]


def settling(bench: Bench) -> float:
    """CPU seconds of the physics in the resets of all episodes."""
    begin = time.process_time()
    for _ in bench.episodes:
        mujoco.mj_step(bench.world.model, bench.world.data, SETTLE_STEPS)
    return time.process_time() - begin


def repeated(bench: Bench, rounds: int, folder: Path) -> list[float]:
    """Milliseconds an episode of the same calls in a row; none for physics."""
    runner, world = bench.worker.runner, bench.world
    suite, manager, rate = runner.suite, runner.manager, runner.manifest.control_rate
    finished: dict[str, Finished] = {e.id: bench.worker.run(e) for e in bench.episodes}
    played = {name: Trajectory.from_bytes(done.trajectory) for name, done in finished.items()}
    store = EpisodeStore.create(folder / "repeated.sqlite")
    numbers = iter(range(10**9))

    def scene(episode: Episode) -> Any:
        return jittered(manager.setup(episode.instance), block_jitter(suite, episode.instance, episode.repeat, 0))

    def reset(episode: Episode) -> None:
        world.reset(scene(episode), control_rate=rate, cameras={})

    def ticks(episode: Episode) -> None:
        reader, monitor = world._reader, TaskMonitor(suite.tasks[0])
        for _ in played[episode.id].commands:
            world._send(world._command)
            reader.check()
            monitor.update(reader.read(0.0, reader.copy()))

    def record(episode: Episode) -> None:
        unplayed_record(suite, manager, episode, 0, outcome="success", reason="goal", error=None)
        played[episode.id].to_bytes()

    def append(episode: Episode) -> None:
        done = finished[episode.id]
        row = list(store_module._row(done.record.to_plain()))
        row[0] = f"{row[0]}-{next(numbers)}"
        store._append(tuple(row), done.trajectory)

    settle = 1e3 * settling(bench) / len(bench.episodes)
    scene_ms = least(bench, rounds, scene)
    found = [
        scene_ms,
        least(bench, rounds, reset) - scene_ms - settle,
        least(bench, rounds, ticks),
        0.0,
        least(bench, rounds, record),
        least(bench, rounds, append),
    ]
    store.close()
    return found


def least(bench: Bench, rounds: int, call: Callable[[Episode], object]) -> float:
    """Milliseconds an episode, the least of the rounds."""
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        for episode in bench.episodes:
            call(episode)
        times.append(time.process_time() - begin)
    return 1e3 * min(times) / len(bench.episodes)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench("expert", {}, given.episodes, Path(folder))
        bench.rbench(0)  # compiles, fills caches
        warm = repeated(bench, given.rounds, Path(folder))
        run = in_a_run(bench, given.rounds)
        raw = 1e3 * min(bench.raw() for _ in range(given.rounds)) / given.episodes
    print(f"{'ms an episode':30}{'in a run':>10}{'repeated':>10}")
    for name, one, other in zip(PARTS, run, warm, strict=True):
        print(f"{name:30}{one:10.2f}{other:10.2f}")
    print(f"{'together':30}{sum(run):10.2f}{sum(warm):10.2f}")
    print(f"{'of the raw loop':30}{100 * sum(run) / raw:9.1f}%{100 * sum(warm) / raw:9.1f}%")


if __name__ == "__main__":
    main()
