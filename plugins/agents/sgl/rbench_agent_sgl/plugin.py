"""Hooks of rbench-agent-sgl."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import WrapperContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_wrappers() -> Iterable[WrapperContribution]:
    """The wrapper `sgl`."""
    yield WrapperContribution(
        name="sgl",
        summary="Semantic grounding layer: names the objects of the instruction so that they can be told apart.",
        target="rbench_agent_sgl.wrapper:Sgl",
        options="rbench_agent_sgl.options:Options",
        verified="Around simple, expert, idle and random with vision model opencv; replies of other models by script.",
    )
