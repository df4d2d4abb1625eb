"""Hooks of rbench-agent-pi0."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_agents() -> Iterable[AgentContribution]:
    """The agent `pi0`."""
    yield AgentContribution(
        name="pi0",
        summary="A policy behind an openpi policy server (pi0, pi0-FAST, pi0.5 with DROID's observations and actions).",
        target="rbench_agent_pi0.agent:Pi0",
        options="rbench_agent_pi0.options:Options",
        needs=("msgpack", "websockets"),
        verified="openpi-server 0.1.0 with made-up policies; no server with openpi's weights was there to ask.",
    )
