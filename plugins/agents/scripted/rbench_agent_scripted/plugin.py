"""Hooks of rbench-agent-scripted."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_agents() -> Iterable[AgentContribution]:
    """The scripted agents."""
    yield AgentContribution(
        name="expert",
        summary="Puts the object into the box from ground truth: the ceiling of a task (privileged).",
        target="rbench_agent_scripted.expert:Expert",
        options="rbench_agent_scripted.expert:ExpertOptions",
        verified="MuJoCo world: 400 of 400 over 4 shapes, 4 positions, 25 jitters, with each of 3 seeds.",
    )
    yield AgentContribution(
        name="servo",
        summary="Decides anew at every tick from ground truth; demonstrations with execution noise (privileged).",
        target="rbench_agent_scripted.servo:Servo",
        options="rbench_agent_scripted.servo:ServoOptions",
        verified="MuJoCo world: 400 of 400 over 48 contexts; 399 of 400 with noise 1, 90 of 96 with noise 2.",
    )
    yield AgentContribution(
        name="idle",
        summary="Holds still until the time is up: a floor of 0.",
        target="rbench_agent_scripted.idle:Idle",
        verified="MuJoCo world: 0 of 208 episodes.",
    )
    yield AgentContribution(
        name="random",
        summary="Moves smoothly at random: a floor of 0 with a moving arm.",
        target="rbench_agent_scripted.random_motion:RandomMotion",
        options="rbench_agent_scripted.random_motion:RandomMotionOptions",
        verified="MuJoCo world: 0 of 208 episodes.",
    )
