"""The policy's answer as actions of rbench: units, gripper, and how much of a chunk is executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rbench.action import JOINTS, ROW, JointPositions, JointVelocities
from rbench.errors import AgentError
from rbench.geometry import Array
from rbench_agent_pi0.options import ActionSpace

#: DROID's control rate, Hz, and how far a joint velocity of 1 moves a joint in one step of it, rad.
CONTROL_RATE, STEP = 15, 0.2
#: A gripper value above this closes the gripper, any other opens it: DROID's policies give no fractions.
CLOSED = 0.5
#: Most rows of an answer.
MOST_ROWS = 10_000


def action_of(
    answer: Mapping[str, Any], space: ActionSpace, open_loop: int, fractions: bool = False
) -> tuple[JointPositions | JointVelocities, int]:
    """The first `open_loop` rows of an answer as an action, and how many rows the answer had.

    Joint positions (rad) pass through. DROID's joint velocities are normalised: a row with a number beyond 1 is scaled
    down as a whole until its largest is 1, and 1 then moves the joint by 0.2 rad in a step of 1/15 s, 3 rad/s. The
    gripper is 0 open .. 1 closed on both sides, and is opened or closed, nothing between, unless `fractions` are meant.

    Raises:
        AgentError: no `actions` of shape (rows, 8) and finite numbers, or fewer rows than `open_loop`.
    """
    rows = _checked(answer.get("actions"), open_loop)
    chunk = np.array(rows[:open_loop], dtype=np.float64)
    if not fractions:
        chunk[:, JOINTS] = chunk[:, JOINTS] > CLOSED
    if space == "joint_position":
        return JointPositions(chunk), len(rows)
    chunk[:, :JOINTS] = radians_per_second(chunk[:, :JOINTS])
    return JointVelocities(chunk), len(rows)


def radians_per_second(velocities: Array) -> Array:
    """DROID's normalised joint velocities (rows, 7) in rad/s; rows with a number beyond 1 are scaled as a whole."""
    largest = np.abs(velocities).max(axis=1, keepdims=True)
    return np.asarray(velocities / np.maximum(largest, 1.0) * (STEP * CONTROL_RATE))


def _checked(actions: Any, open_loop: int) -> Array:
    if not isinstance(actions, np.ndarray) or actions.dtype.kind not in "fiu":
        raise AgentError(
            f"agent 'pi0': the policy's answer holds no array of numbers under 'actions' but {type(actions).__name__};"
            " is this a policy with DROID's actions?"
        )
    if actions.ndim != 2 or actions.shape[1] != ROW or len(actions) > MOST_ROWS:
        raise AgentError(
            f"agent 'pi0': the policy's actions have shape {actions.shape} instead of (rows, {ROW}), 7 joints and the"
            " gripper; serve a policy with DROID's actions"
        )
    if len(actions) < open_loop:
        raise AgentError(
            f"agent 'pi0': the policy gives {len(actions)} rows and option open_loop wants {open_loop}; give"
            f" -o open_loop={max(len(actions), 1)} or less"
        )
    if not np.isfinite(actions).all():
        raise AgentError("agent 'pi0': the policy's actions hold NaN or infinite numbers")
    return actions
