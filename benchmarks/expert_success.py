"""How often a scripted agent succeeds: every shape at every position of roboview-bias, with the suite's jitter.

    python benchmarks/expert_success.py [--agent expert] [--repeats 25]

Prints one line a shape and position, then the total; exits with 1 when `expert` is below 99.5 %, or `idle` or
`random` above 0. Nothing is rendered.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from math import inf

import numpy as np

from rbench.action import Answer, Stop, checked_action
from rbench.interfaces.agent import Agent, AgentContext, EpisodeStart
from rbench.plugins.catalog import build_catalog
from rbench.scene import Jitter, Setup, jittered
from rbench.seeding import block_seed, generator, uniforms
from rbench.simulation.profiles import render_profile
from rbench.simulation.world import MujocoWorld
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.tasks.monitor import TaskMonitor
from rbench.tasks.task import Task

BOUNDS = {"expert": (0.995, 1.0), "idle": (0.0, 0.0), "random": (0.0, 0.0)}


def main() -> int:
    """Run all episodes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", default="expert")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    catalog = build_catalog()
    suite = load_suite(catalog, "roboview-bias")
    agent: Agent = catalog.make("agent", arguments.agent, None, AgentContext())
    world = MujocoWorld(render_profile("fast"))
    total = successes = 0
    for shape, position, setup in setups(suite):
        begin, outcomes, seconds = time.process_time(), [], []
        for repeat in range(arguments.repeats):
            sequence = block_seed(arguments.seed, suite.name, "expert_success", f"{shape}-{position}", repeat)
            outcome, simulated = play(world, agent, suite.tasks[0], with_jitter(setup, suite, sequence), sequence)
            outcomes.append(outcome)
            seconds.append(simulated)
        cpu = (time.process_time() - begin) / arguments.repeats
        good = outcomes.count("success")
        others = sorted(set(outcomes) - {"success"})
        print(
            f"{shape:9} {position}  {good:4}/{arguments.repeats:<4} {sum(seconds) / len(seconds):6.2f} s simulated"
            f" {cpu:6.3f} s CPU  {', '.join(others)}",
            flush=True,
        )
        total, successes = total + arguments.repeats, successes + good
    world.close()
    agent.close()
    print(f"{arguments.agent}: {successes}/{total} = {100 * successes / total:.2f} %")
    low, high = BOUNDS.get(arguments.agent, (-inf, inf))
    return 0 if low <= successes / total <= high else 1


def setups(suite: Suite) -> Iterator[tuple[str, str, Setup]]:
    """Every shape at every position: level names and the setup."""
    base = RecursiveVariantTaskManager(suite).base_setup(suite.tasks[0])
    shapes, positions = suite.factors["shape"], suite.factors["position"]
    for shape, position in itertools.product(shapes.levels, positions.levels):
        yield shape.name, position.name, positions.factor.apply(shapes.factor.apply(base, shape), position)


def with_jitter(setup: Setup, suite: Suite, sequence: np.random.SeedSequence) -> Setup:
    """The setup with every object displaced by the suite's jitter."""
    xy, yaw = suite.protocol.jitter_xy, suite.protocol.jitter_yaw
    names = [item.name for item in setup.scene.objects]
    numbers = iter(uniforms(sequence, 3 * len(names)))
    return jittered(setup, {n: Jitter(*((2 * next(numbers) - 1) * half for half in (xy, xy, yaw))) for n in names})


def play(
    world: MujocoWorld, agent: Agent, task: Task, setup: Setup, sequence: np.random.SeedSequence
) -> tuple[str, float]:
    """One episode: `success`, `time_limit` or the reason of a Stop, and its simulated seconds."""
    manifest = agent.manifest
    world.reset(setup, control_rate=manifest.control_rate, cameras=manifest.cameras)
    monitor = TaskMonitor(task)
    monitor.update(world.state())
    observation = world.observe(privileged=manifest.privileged)
    rng = generator(sequence, "agent")
    agent.reset(EpisodeStart(setup.instruction, observation, world.robot, manifest.control_rate, rng))
    while True:
        action = checked_action(agent.act(observation), "benchmark", manifest.actions)
        assert not isinstance(action, Answer)
        for tick in world.settle(1.0) if isinstance(action, Stop) else world.execute(action):
            monitor.update(tick.state)
            if monitor.succeeded:
                return "success", tick.state.time
            if tick.state.time >= task.limit:
                return "time_limit", tick.state.time
        if isinstance(action, Stop):
            return action.reason, world.state().time
        observation = world.observe(privileged=manifest.privileged)


if __name__ == "__main__":
    sys.exit(main())
