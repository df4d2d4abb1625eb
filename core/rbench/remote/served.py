"""Installed rbench agents behind the serving side: what `rbench serve-agent` makes for every connection."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rbench.action import checked_action
from rbench.errors import (
    AgentError,
    InfrastructureError,
    StartError,
    StoppedEarly,
)
from rbench.interfaces.agent import EpisodeStart
from rbench.interfaces.vision import Question, Reply, VisionModel
from rbench.remote import agent_server
from rbench.remote.messages import RemoteObservation, action_message, manifest_message, robot_of
from rbench.remote.questions import question_message, reply_of
from rbench.running.agents import ResolvedAgent, build_agent, effective_manifest
from rbench.values import to_plain
from rbench.vision.metering import VisionMeter


class ServedAgent:
    """One agent in its wrappers, as the serving side calls it; the host's checks of actions are made here.

    Args:
        own_vision: the server has a vision model of its own; else the agent asks that of the run, if the run has one.
    """

    def __init__(self, parts: ResolvedAgent, own_vision: bool) -> None:
        self._name = parts.agent.part.name
        self._questions = _Questions(parts, own_vision)
        self._agent = build_agent(parts, self._questions)
        self._manifest = effective_manifest(self._agent)
        self.manifest = manifest_message(self._manifest)

    def reset(self, start: agent_server.Start) -> None:
        self._questions.begin("")
        self._questions.host = start if start.sees_vision else None
        with self._told():
            self._agent.reset(
                EpisodeStart(
                    instruction=start.instruction,
                    observation=self._seen(start.observation),
                    robot=robot_of(start.robot),
                    control_rate=start.control_rate,
                    rng=start.rng,
                )
            )

    def act(self, observation: agent_server.Observation) -> Mapping[str, Any]:
        with self._told(), np.errstate():
            action = self._agent.act(self._seen(observation))
            return action_message(checked_action(action, self._name, self._manifest.actions))

    def report(self) -> Any:
        with self._told():
            return to_plain(self._agent.report())

    def timing(self) -> dict[str, float]:
        with self._told():
            return {str(name): float(value) for name, value in self._agent.timing().items()}

    def close(self) -> None:
        self._agent.close()
        self._questions.close()

    def _seen(self, observation: agent_server.Observation) -> RemoteObservation:
        def truth() -> Any:
            return observation.ground_truth

        return RemoteObservation(observation, truth if self._manifest.privileged else None)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of rbench as the serving side passes them on; what a vision model raised counts, as in a run."""
        try:
            try:
                yield
            except Exception:
                self._questions.raise_problem()
                raise
            self._questions.raise_problem()
        except AgentError as problem:
            raise agent_server.Failure("agent", str(problem)) from problem
        except InfrastructureError as problem:
            raise agent_server.Failure("infrastructure", str(problem)) from problem
        except (StartError, StoppedEarly) as problem:
            raise agent_server.Failure("start", str(problem)) from problem


class _Questions(VisionMeter):
    """Hands out vision models that ask the run's model where there is one, and else the server's own.

    Attributes:
        host: whose run the present episode is of; None: it has no vision model.
    """

    def __init__(self, parts: ResolvedAgent, own_vision: bool) -> None:
        super().__init__(parts.limits)
        self.host: agent_server.Start | None = None
        self._passed_on = None if own_vision or parts.vision is None else parts.vision.entry.qualified

    def around(self, model: VisionModel, name: str, transcribed: bool = True) -> VisionModel:
        metered = super().around(model, name, transcribed)
        return _OfTheRun(self, metered) if name == self._passed_on else metered


class _OfTheRun(VisionModel):
    """The vision model of the run, asked over the connection: its cost, transcript and limits stay with the run."""

    def __init__(self, questions: _Questions, own: VisionModel) -> None:
        self._questions, self._own = questions, own

    def ask(self, question: Question, rng: np.random.Generator) -> Reply:
        host = self._questions.host
        if host is None:
            return self._own.ask(question, rng)
        return reply_of(host.ask(question_message(question, rng)), question, rng)
