"""What the MuJoCo world costs beside MuJoCo itself, without rendering.

    python benchmarks/world_speed.py

The raw loop sends an expert's recorded actuator targets to MuJoCo, with the same physics steps.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np

from rbench.action import Stop
from rbench.geometry import Array
from rbench.interfaces.agent import Agent, AgentContext, EpisodeStart
from rbench.plugins.catalog import build_catalog
from rbench.scene import Setup
from rbench.simulation.compile import PHYSICS_RATE
from rbench.simulation.control import finger_width
from rbench.simulation.kinematics import ArmKinematics
from rbench.simulation.profiles import render_profile
from rbench.simulation.world import MujocoWorld
from rbench.suites.scene_files import load_scene

RATE, ROUNDS = 20, 9


def main() -> None:
    """Measure and print."""
    scene = load_scene("tabletop")
    setup = Setup(scene, "")
    pyramid = Setup(scene.with_object(replace(scene.objects[0], shape="pyramid")), "")
    world, other = MujocoWorld(render_profile("fast")), MujocoWorld(render_profile("fast"))
    line("first reset of a process, compiling included", seconds(lambda: reset(world, setup)))
    line("reset to another structure, compiling included", seconds(lambda: reset(world, pyramid)))
    line("reset to that structure in another world", seconds(lambda: reset(other, pyramid)))
    reset(world, setup)
    line("reset to a structure that is ready", each(lambda: reset(world, setup), 200))
    expert: Agent = build_catalog().make("agent", "expert", None, AgentContext())
    episode, commands = record(world, setup, expert)
    ticks = len(commands)
    raw = best(world, setup, lambda: raw_loop(world, commands)) / ticks
    ours = best(world, setup, lambda: [None for _ in world.replay(commands)]) / ticks
    seen = best(world, setup, lambda: [world.observe() for _ in world.replay(commands)]) / ticks
    line(f"a control tick of {PHYSICS_RATE // RATE} steps, MuJoCo alone", raw)
    line("the same through the world", ours, f"+{100 * (ours / raw - 1):.1f} %")
    line("the same with an observation (no image read)", seen, f"+{100 * (seen / raw - 1):.1f} %")
    line("state and contacts", each(lambda: world._reader.read(0.0, world._reader.copy()), 2000))
    arm, home = ArmKinematics(), np.array(scene.robot.home)
    goal = arm.fingertip(home)
    line(
        "inverse kinematics, 13 mm away",
        each(lambda: arm.solve(goal.position + 0.0075, goal.quaternion, home, home), 500),
    )
    line(f"an expert's episode ({ticks / RATE:.1f} s simulated)", episode)


def line(what: str, value: float, remark: str = "") -> None:
    """Print one measurement in microseconds or milliseconds."""
    text = f"{value * 1e6:9.1f} us" if value < 1e-3 else f"{value * 1e3:9.1f} ms"
    print(f"{what:52} {text} {remark}", flush=True)


def reset(world: MujocoWorld, setup: Setup) -> None:
    """Reset without cameras."""
    world.reset(setup, control_rate=RATE, cameras={})


def record(world: MujocoWorld, setup: Setup, agent: Agent) -> tuple[float, Array]:
    """CPU seconds of one episode and its commands."""
    begin = time.process_time()
    reset(world, setup)
    observation = world.observe(privileged=True)
    agent.reset(EpisodeStart("", observation, world.robot, RATE, np.random.default_rng(0)))
    commands: list[Array] = []
    while not isinstance(action := agent.act(observation), Stop):
        commands.extend(tick.command for tick in world.execute(action))  # type: ignore[arg-type]
        observation = world.observe(privileged=True)
    return time.process_time() - begin, np.array(commands)


def raw_loop(world: MujocoWorld, commands: Array) -> None:
    """MuJoCo alone."""
    model, data, steps = world.model, world.data, PHYSICS_RATE // RATE
    for command in commands:
        data.ctrl[:7] = command[:7]
        data.ctrl[7] = finger_width(command[7])
        mujoco.mj_step(model, data, steps)


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def best(world: MujocoWorld, setup: Setup, call: Callable[[], object]) -> float:
    """Least CPU seconds of several calls, each after a reset: other work on the machine only ever adds."""

    def once() -> float:
        reset(world, setup)
        return seconds(call)

    return min(once() for _ in range(ROUNDS))


def each(call: Callable[[], object], number: int) -> float:
    """Least seconds a call over several rounds."""
    return min(timeit.repeat(call, number=number, repeat=5, timer=time.process_time)) / number


if __name__ == "__main__":
    main()
