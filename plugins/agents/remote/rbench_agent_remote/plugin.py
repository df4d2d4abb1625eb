"""Hooks of rbench-agent-remote."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_agents() -> Iterable[AgentContribution]:
    """The agent `remote`."""
    yield AgentContribution(
        name="remote",
        summary="Any agent that is served in another environment, by `rbench serve-agent` or by one copied file.",
        target="rbench_agent_remote.agent:Remote",
        options="rbench_agent_remote.options:Options",
        needs=("msgpack", "websockets"),
        verified="expert and simple on roboview-bias: records as in process; servers on Python 3.8 and 3.11.",
    )
