"""Hooks of rbench-agent-simple."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_agents() -> Iterable[AgentContribution]:
    """The agent `simple`."""
    yield AgentContribution(
        name="simple",
        summary="Asks a vision model once where object and box are, lifts both through depth, picks and places.",
        target="rbench_agent_simple.agent:SimpleAgent",
        options="rbench_agent_simple.options:Options",
        verified="Vision model opencv and answers from ground truth on roboview-bias; planner llm by scripted replies.",
    )
