"""What the harness itself costs: an agent that does nothing in a world that does nothing, beside another harness.

    python benchmarks/harness_overhead.py [--episodes 300] [--steps 100] [--inspect-robots PYTHON]

Every step asks the agent, and every episode is written to disk. `--inspect-robots` is the Python of an environment in
which `inspect-robots` is installed: the same nothing is done there, in the same run, in turns. Processor time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rbench.action import Action, JointPositions, JointVelocities, Waypoints
from rbench.geometry import Pose
from rbench.interfaces.agent import Agent, AgentManifest, EpisodeStart
from rbench.interfaces.world import Tick
from rbench.observation import Observation
from rbench.plugins.catalog import build_catalog
from rbench.results.store import EpisodeStore
from rbench.running.episode import EpisodeRunner
from rbench.running.plan import Plan, Selection
from rbench.scene import Setup
from rbench.suites.loading import load_suite
from rbench.testing.fake_world import FakeWorld
from rbench.world_state import WorldState

RATE = 20

_THEIRS = """
import json, sys, tempfile, time
import numpy as np
import inspect_robots as ir
from inspect_robots.mock.cubepick import CubePickEmbodiment
from inspect_robots.mock.policies import NoopPolicy

episodes, steps = int(sys.argv[1]), int(sys.argv[2])

class Nothing(CubePickEmbodiment):
    def reset(self, scene, *, seed=None):
        self._seen = ir.Observation(
            images={"top": np.zeros((32, 32, 3), np.uint8)},
            state={"eef_pos": np.zeros(2), "cube_pos": np.ones(2)},
            instruction=scene.instruction,
        )
        return self._seen

    def step(self, action):
        return ir.StepResult(observation=self._seen, reward=0.0, terminated=False, truncated=False, info={})

scenes = [ir.Scene(id=f"s{i}", instruction="nothing", init_seed=i) for i in range(episodes)]
task = ir.Task(name="nothing", scenes=scenes, scorer=ir.success_at_end(), max_steps=steps)
with tempfile.TemporaryDirectory() as folder:
    begin = time.process_time()
    (log,) = ir.eval(task, NoopPolicy(chunk_size=1), Nothing(), log_dir=folder)
    print(json.dumps({"seconds": time.process_time() - begin, "status": log.status}))
"""


class Still(Agent):
    """Asks for the pose it has, one control tick at a time."""

    manifest = AgentManifest(cameras={}, control_rate=RATE, actions=("joint_positions",))

    def reset(self, start: EpisodeStart) -> None:
        self._action = JointPositions(np.zeros((1, 8)))

    def act(self, observation: Observation) -> Action:
        return self._action


class NothingWorld(FakeWorld):
    """Always the moment of its reset, but for the time."""

    def reset(self, setup: Setup, *, control_rate: int, cameras: Mapping[str, Any]) -> None:
        super().reset(setup, control_rate=control_rate, cameras=cameras)
        self._still: WorldState = super().state()
        self._steps = 0

    def state(self) -> WorldState:
        return self._still

    def fingerprint(self) -> str:
        return "nothing"

    def observe(self, *, privileged: bool = False) -> Observation:
        robot = self._still.robot
        return Observation(
            time=self._still.time,
            cameras={},
            joint_positions=robot.joint_positions,
            joint_velocities=robot.joint_velocities,
            gripper=0.0,
            end_effector=_POSE,
        )

    def execute(self, action: JointPositions | JointVelocities | Waypoints) -> Iterator[Tick]:
        assert isinstance(action, JointPositions)
        for row in action.rows:
            self._steps += 1
            self._still = self._still._replace(time=self._steps / RATE)
            yield Tick(row, self._still)


_POSE = Pose()


def rbench_seconds(episodes: int, steps: int) -> float:
    """CPU seconds of plan, episodes and store."""
    suite = load_suite(build_catalog(), "roboview-bias")
    suite = replace(suite, tasks=tuple(replace(task, limit=steps / RATE) for task in suite.tasks))
    runner = EpisodeRunner(suite, NothingWorld(), Still(), "still", Still.manifest, 0)
    with tempfile.TemporaryDirectory() as folder, EpisodeStore.create(Path(folder) / "episodes.sqlite") as store:
        begin = time.process_time()
        done = 0
        for episode in Plan(suite, Selection(limit=episodes)):
            finished = runner.run(episode)
            assert finished.record.steps == steps, finished.record
            store.append(finished.record, finished.trajectory)
            done += 1
        assert done == episodes
        return time.process_time() - begin


def their_seconds(python: str, episodes: int, steps: int) -> float:
    """CPU seconds of the same in the other harness."""
    done = subprocess.run(
        [python, "-c", _THEIRS, str(episodes), str(steps)], stdout=subprocess.PIPE, text=True, check=True
    )
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def line(name: str, seconds: dict[int, float], episodes: int) -> None:
    """Print the cost of a step, from two lengths of episodes, and of an episode without its steps."""
    (short, a), (long, b) = sorted(seconds.items())
    step = (b - a) / episodes / (long - short)
    print(f"{name:15} {1e6 * step:8.1f} us a step  {1e3 * (a / episodes - short * step):8.2f} ms an episode")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inspect-robots", metavar="PYTHON", help="of an environment that has it")
    given = parser.parse_args()
    lengths = (max(1, given.steps // 10), given.steps)
    ours: dict[int, float] = dict.fromkeys(lengths, np.inf)
    theirs = dict(ours)
    for _ in range(given.rounds):
        for steps in lengths:
            ours[steps] = min(ours[steps], rbench_seconds(given.episodes, steps))
            if given.inspect_robots:
                theirs[steps] = min(theirs[steps], their_seconds(given.inspect_robots, given.episodes, steps))
    line("rbench", ours, given.episodes)
    if given.inspect_robots:
        line("inspect-robots", theirs, given.episodes)


if __name__ == "__main__":
    main()
