"""`pi0` keeps the contract of agents, with a policy that moves a little from where the arm is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from rbench.testing import BoundCheck, agent_checks
from rbench.testing.kinds import checks_of

#: Of an answer: few queries make the episodes of the checks short.
ROWS = 45


def swaying(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Joint targets that depend on all that is shown."""
    brightness = float(asked["observation/exterior_image_1_left"].mean() + asked["observation/wrist_image_left"].mean())
    way = 0.01 * np.sin(np.arange(ROWS) + brightness + len(asked["prompt"]))
    joints = asked["observation/joint_position"][None] + way[:, None]
    return {"actions": np.column_stack([joints, np.zeros(ROWS)]).astype(np.float32)}


@pytest.fixture(scope="module")
def checks(lasting_policy_server: Callable[..., Any]) -> dict[str, BoundCheck]:
    server = lasting_policy_server(swaying, asked=deque(maxlen=1))
    options = {"host": "127.0.0.1", "port": server.port, "action_space": "joint_position", "open_loop": ROWS}
    options |= {"height": 48, "width": 64, "image_size": 64}
    return {str(check): check for check in agent_checks("pi0", options, world="fake")}


@pytest.mark.parametrize("name", [check.name for check in checks_of("agent")])
def test_conformance(checks: dict[str, BoundCheck], name: str) -> None:
    checks[name]()
