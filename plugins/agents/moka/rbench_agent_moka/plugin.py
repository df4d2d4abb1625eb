"""Hooks of rbench-agent-moka."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_agents() -> Iterable[AgentContribution]:
    """The agent `moka`."""
    yield AgentContribution(
        name="moka",
        summary="MOKA: plans, detects, segments, marks keypoints, asks for the motion, lifts it to 3-D, grasps, moves.",
        target="rbench_agent_moka.agent:Moka",
        options="rbench_agent_moka.options:Options",
        needs=("cv2",),
        doctor="rbench_agent_moka.doctor:examine",
        verified="Vision and perception opencv on roboview-bias, and ground-truth perception with a scripted model.",
    )
