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
        summary="A policy with DROID's observations and actions: of an openpi server, or embedded (needs PyTorch).",
        target="rbench_agent_pi0.agent:Pi0",
        options="rbench_agent_pi0.options:Options",
        verified="openpi-server 0.1.0 with made-up policies; the embedded policy as its card says (docs/pi0.md).",
        doctor="rbench_agent_pi0.doctor:examine",
    )
