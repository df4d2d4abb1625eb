"""Wrappers: agents around agents (SGL, StressDART)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rbench.action import Action
from rbench.interfaces.agent import Agent, AgentManifest, EpisodeStart
from rbench.observation import Observation


class Wrapper(Agent):
    """Base class of wrappers. Called as `Wrapper(options, context, inner)`; passes everything through.

    A wrapper may change the manifest, the start (`dataclasses.replace(start, instruction=...)`), the
    observations, the actions and, through `wrap_context`, the vision model that the inner agent is given. The
    mark `privileged` always propagates from the inner agent.
    """

    def __init__(self, options: Any, context: Any, inner: Agent) -> None:
        self.options = options
        self.context = context
        self.inner = inner

    @classmethod
    def wrap_context(cls, options: Any, context: Any) -> Any:
        """The context that the inner agent is made with; default: the same."""
        return context

    @property
    def manifest(self) -> AgentManifest:
        return self.inner.manifest

    def reset(self, start: EpisodeStart) -> None:
        self.inner.reset(start)

    def act(self, observation: Observation) -> Action:
        return self.inner.act(observation)

    def report(self) -> Mapping[str, Any]:
        return self.inner.report()

    def timing(self) -> Mapping[str, float]:
        return self.inner.timing()

    def close(self) -> None:
        self.inner.close()
