"""The agent `pi0`: DROID's view of a robot in, chunks of joint actions out, with whatever policy there is behind it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rbench.action import Action
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.observation import CameraRequest, Observation
from rbench_agent_pi0.actions import CONTROL_RATE, action_of
from rbench_agent_pi0.observations import droid_observation
from rbench_agent_pi0.options import Options
from rbench_agent_pi0.policies import chosen_policy


class Pi0(Agent):
    """Looks, asks the policy, executes the first rows of its answer, looks again. Keeps nothing in between."""

    def __init__(self, options: Options, context: AgentContext) -> None:
        self._options = options
        self._policy = chosen_policy(options)
        given, made_for = options, self._policy.pictures
        self._height = made_for.height if given.height is None else given.height
        self._width = made_for.width if given.width is None else given.width
        self._size = made_for.image_size if given.image_size is None else given.image_size
        self._queries, self._rows, self._seconds = 0, 0, 0.0
        self._instruction = ""
        if self._policy.eyes and not {options.exterior, options.wrist} <= set(self._policy.eyes):
            context.logger.warning(
                "the embedded policy was trained on the cameras %s and is shown %s and %s",
                " and ".join(self._policy.eyes),
                options.exterior,
                options.wrist,
            )

    @property
    def manifest(self) -> AgentManifest:
        options = self._options
        request = CameraRequest(self._height, self._width)
        velocity = self._policy.action_space == "joint_velocity"
        return AgentManifest(
            actions=("joint_velocities",) if velocity else ("joint_positions",),
            cameras={options.exterior: request, options.wrist: request},
            primary=options.exterior,
            control_rate=CONTROL_RATE,
            weights=self._policy.weights,
        )

    def reset(self, start: EpisodeStart) -> None:
        self._queries, self._rows, self._seconds = 0, 0, 0.0
        said = self._options.instruction
        self._instruction = start.instruction if said is None else said
        self._policy.reset(start.rng)

    def act(self, observation: Observation) -> Action:
        asked = droid_observation(observation, self._instruction, self._options, self._size)
        begin = time.perf_counter()
        answer = self._policy.infer(asked)
        self._seconds += time.perf_counter() - begin
        self._queries += 1
        policy = self._policy
        action, self._rows = action_of(answer, policy.action_space, self._options.open_loop, policy.fractions)
        return action

    def report(self) -> Mapping[str, Any]:
        """How often the policy was asked, how many rows its last answer had, and which weights answered."""
        policy = self._policy
        return {
            "queries": self._queries,
            "rows": self._rows,
            "action_space": policy.action_space,
            "weights": dict(policy.weights),
        }

    def timing(self) -> Mapping[str, float]:
        """Seconds spent waiting for the policy."""
        return {"inference": self._seconds}

    def close(self) -> None:
        self._policy.close()
