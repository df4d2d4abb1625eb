"""What an episode costs beside physics, rendering, controller and agent: rbench's own share.

    python benchmarks/episode_share.py [--episodes 60] [--rounds 5] [--agent expert] [--profile]

The raw loop gives MuJoCo the actuator targets that each episode recorded, with the same physics steps (those in which
the scene comes to rest at reset included) and the same renders. Both run in one process, in turns; all times are CPU
seconds, the least of the rounds. Controller (waypoints to joint targets) and agent are timed inside the episode and
printed apart; rbench's share is the rest: plan, setup, reset, observations, judging, recording, storing.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from rbench.design import Episode
from rbench.geometry import Array
from rbench.observation import CameraRequest
from rbench.plugins.catalog import build_catalog
from rbench.record import Trajectory
from rbench.results.store import EpisodeStore
from rbench.running.description import Part, RunDescription
from rbench.running.jitter import block_jitter
from rbench.running.plan import Selection
from rbench.running.run import prepare
from rbench.running.worker import Worker
from rbench.scene import jittered
from rbench.simulation.compile import PHYSICS_RATE
from rbench.simulation.control import WaypointMotion, finger_width
from rbench.simulation.world import SETTLE_STEPS, MujocoWorld


class Clock:
    """CPU seconds spent in calls that are watched."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inside = False

    def watch(self, owner: Any, name: str) -> None:
        """Count the time that a method takes; calls inside counted calls count once."""
        call = getattr(owner, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            if self._inside:
                return call(*arguments, **named)
            self._inside = True
            begin = time.process_time()
            try:
                return call(*arguments, **named)
            finally:
                self.seconds += time.process_time() - begin
                self._inside = False

        setattr(owner, name, timed)


class Bench:
    """One worker, the episodes it runs, and what each recorded."""

    def __init__(self, agent: str, options: dict[str, Any], episodes: int, folder: Path) -> None:
        description = RunDescription("roboview-bias", Part(agent, options), selection=Selection(limit=episodes))
        prepared = prepare(build_catalog(), description)
        self.worker = Worker.of_job(prepared.job)
        world = self.worker.world
        assert isinstance(world, MujocoWorld)
        self.world = world
        self.plan = prepared.plan
        self.episodes = list(islice(prepared.plan, episodes))
        self.folder = folder
        self.controller, self.agent, self.render = Clock(), Clock(), Clock()
        for method in ("__init__", "commands", "verdict"):
            self.controller.watch(WaypointMotion, method)
        for method in ("reset", "act", "report", "timing"):
            self.agent.watch(self.worker.agent, method)
        self.recorded: dict[str, Array] = {}
        self.views: dict[str, dict[str, CameraRequest]] = {}

    def rbench(self, number: int) -> float:
        """CPU seconds of all episodes, from the plan to the store."""
        store = EpisodeStore.create(self.folder / f"{number}.sqlite")
        begin = time.process_time()
        for episode, _ in zip(self.plan, self.episodes, strict=False):
            finished = self.worker.run(episode)
            store.append(finished.record, finished.trajectory)
            self.recorded[episode.id] = np.frombuffer(finished.trajectory, np.uint8)
        seconds = time.process_time() - begin
        store.close()
        return seconds

    def raw(self) -> float:
        """CPU seconds of the same physics, without anything of rbench."""
        seconds = 0.0
        for episode in self.episodes:
            commands = Trajectory.from_bytes(self.recorded[episode.id].tobytes()).commands
            seconds += self._raw_episode(episode, commands)
        return seconds

    def _raw_episode(self, episode: Episode, commands: Array) -> float:
        runner, kind = self.worker.runner, mujoco.mjtState.mjSTATE_INTEGRATION
        rate = runner.manifest.control_rate
        jitter = block_jitter(runner.suite, episode.instance, episode.repeat, runner.seed)
        self.world.reset(jittered(runner.manager.setup(episode.instance), jitter), control_rate=rate, cameras={})
        model, data = self.world.model, self.world.data
        state = np.empty(mujoco.mj_stateSize(model, kind))
        mujoco.mj_getState(model, data, state, kind)
        steps = PHYSICS_RATE // rate
        begin = time.process_time()
        mujoco.mj_step(model, data, SETTLE_STEPS)  # the steps of a reset, whose scenes rest at the first look
        seconds = time.process_time() - begin
        mujoco.mj_setState(model, data, state, kind)
        begin = time.process_time()
        for command in commands:
            data.ctrl[:7] = command[:7]
            data.ctrl[7] = finger_width(command[7])
            mujoco.mj_step(model, data, steps)
        return seconds + time.process_time() - begin


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--agent", default="expert")
    parser.add_argument("--options", type=json.loads, default={}, help="the agent's, as JSON")
    parser.add_argument("--profile", action="store_true", help="print where a round spends its time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given.agent, given.options, given.episodes, Path(folder))
        bench.rbench(0)  # compiles, fills caches
        rows = [one_round(bench, number) for number in range(1, given.rounds + 1)]
        if given.profile:
            profile(lambda: bench.rbench(given.rounds + 1))
    total, controller, agent, raw = (1e3 * min(column) / given.episodes for column in zip(*rows, strict=True))
    own = total - controller - agent - raw
    for name, value in (("episode", total), ("raw loop", raw), ("controller", controller), ("agent", agent)):
        print(f"{name:12} {value:8.2f} ms")
    print(f"{'rbench':12} {own:8.2f} ms  {100 * own / raw:.1f} % of the raw loop")


def one_round(bench: Bench, number: int) -> tuple[float, float, float, float]:
    """CPU seconds of episodes, controller, agent, raw loop."""
    controller, agent = bench.controller.seconds, bench.agent.seconds
    total = bench.rbench(number)
    return total, bench.controller.seconds - controller, bench.agent.seconds - agent, bench.raw()


def profile(call: Callable[[], object]) -> None:
    """Print where a call spends its time."""
    profiler = cProfile.Profile()
    profiler.runcall(call)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(35)


if __name__ == "__main__":
    main()
