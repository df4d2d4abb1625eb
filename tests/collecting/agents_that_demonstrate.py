"""Agents that demonstrate, and sometimes fail to."""

from __future__ import annotations

from typing import Any

from rbench.action import JointPositions, Stop
from rbench.interfaces.agent import AgentContext, EpisodeStart
from rbench.observation import Observation
from rbench_agent_scripted.servo import Servo, ServoOptions


class Halfhearted(Servo):
    """Gives up at once in about half of its episodes; which ones follows from its seeds."""

    def __init__(self, options: Any, context: AgentContext) -> None:
        super().__init__(ServoOptions(), context)

    def reset(self, start: EpisodeStart) -> None:
        super().reset(start)
        self._willing = start.rng.random() < 0.5

    def act(self, observation: Observation) -> JointPositions | Stop:
        return super().act(observation) if self._willing else Stop("no")


class Never(Halfhearted):
    def act(self, observation: Observation) -> Stop:
        return Stop("no")


class Mumbling(Servo):
    """Reports labels that are none."""

    def __init__(self, options: Any, context: AgentContext) -> None:
        super().__init__(ServoOptions(), context)

    def report(self) -> dict[str, Any]:
        return {"labels": [[1.0, 2.0], [3.0]]}
