"""Units, gripper and chunks of a policy's answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rbench.action import JointPositions, JointVelocities, checked_action
from rbench.errors import AgentError
from rbench_agent_pi0.actions import CONTROL_RATE, action_of


def answer(row: list[float], rows: int = 8) -> dict[str, Any]:
    return {"actions": np.tile(np.array(row, dtype=np.float32), (rows, 1))}


def moved_in_a_step(joints: list[float]) -> np.ndarray[Any, Any]:
    """Radians that a row moves the joints by in one control step."""
    action, _ = action_of(answer([*joints, 0.0]), "joint_velocity", 8)
    assert isinstance(action, JointVelocities)
    return action.rows[0, :7] / CONTROL_RATE


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_velocity_1_moves_a_joint_by_a_fifth_of_a_radian_in_a_step(sign: float) -> None:
    assert moved_in_a_step([sign] * 7) == pytest.approx([0.2 * sign] * 7)


def test_a_velocity_is_3_radians_a_second_at_15_hertz() -> None:
    action, _ = action_of(answer([0.5] * 7 + [0.0]), "joint_velocity", 8)
    assert action.rows[0, :7] == pytest.approx([1.5] * 7)


def test_a_row_with_a_number_beyond_1_is_scaled_as_a_whole() -> None:
    assert moved_in_a_step([2.0, 1.0, 0.0, -1.0, 0.5, 0.0, 0.0]) == pytest.approx([0.2, 0.1, 0.0, -0.1, 0.05, 0.0, 0.0])


def test_a_row_within_1_is_not_scaled() -> None:
    assert moved_in_a_step([0.5, 0, 0, 0, 0, 0, -0.25]) == pytest.approx([0.1, 0, 0, 0, 0, 0, -0.05])


def test_joint_positions_pass_through_beyond_1() -> None:
    action, _ = action_of(answer([-2.5, 1.7, 0.1, -2.8, 0.0, 3.1, 0.7, 0.0]), "joint_position", 8)
    assert isinstance(action, JointPositions)
    assert action.rows[0, :7] == pytest.approx([-2.5, 1.7, 0.1, -2.8, 0.0, 3.1, 0.7])


@pytest.mark.parametrize("space", ["joint_position", "joint_velocity"])
@pytest.mark.parametrize(
    ("value", "command"), [(0.0, 0.0), (0.5, 0.0), (0.51, 1.0), (1.0, 1.0), (-3.0, 0.0), (7.0, 1.0)]
)
def test_the_gripper_opens_or_closes(space: Any, value: float, command: float) -> None:
    action, _ = action_of(answer([0.0] * 7 + [value]), space, 8)
    assert set(action.rows[:, 7]) == {command}


@pytest.mark.parametrize(("rows", "open_loop"), [(10, 8), (10, 10), (15, 8), (16, 8), (50, 8), (10, 1)])
def test_the_first_rows_of_a_chunk_are_executed(rows: int, open_loop: int) -> None:
    actions = np.zeros((rows, 8), dtype=np.float32)
    actions[:, 0] = np.arange(rows)
    action, horizon = action_of({"actions": actions}, "joint_position", open_loop)
    assert (horizon, action.rows[:, 0].tolist()) == (rows, list(range(open_loop)))


def test_a_chunk_that_is_shorter_than_open_loop_is_an_error_that_says_what_to_give() -> None:
    with pytest.raises(AgentError, match=r"10 rows and option open_loop wants 12; give -o open_loop=10"):
        action_of(answer([0.0] * 8, rows=10), "joint_position", 12)


@pytest.mark.parametrize("shape", [(10, 7), (10, 9), (8,), (1, 10, 8), (10, 32), ()])
def test_another_shape_is_neither_padded_nor_cut(shape: tuple[int, ...]) -> None:
    with pytest.raises(AgentError, match=r"instead of \(rows, 8\)"):
        action_of({"actions": np.zeros(shape)}, "joint_position", 8)


@pytest.mark.parametrize(
    "actions",
    [None, [[0.0] * 8] * 8, "none", np.array([["a"] * 8] * 8), np.ones((8, 8), dtype=bool)],
    ids=["nothing", "lists", "text", "an array of text", "an array of booleans"],
)
def test_what_is_no_array_of_numbers_is_an_error(actions: Any) -> None:
    with pytest.raises(AgentError, match="no array of numbers under 'actions'"):
        action_of({"actions": actions}, "joint_position", 8)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("space", ["joint_position", "joint_velocity"])
def test_numbers_that_are_none_are_an_error(space: Any, value: float) -> None:
    with pytest.raises(AgentError, match="NaN or infinite"):
        action_of(answer([value] + [0.0] * 7), space, 8)


@pytest.mark.parametrize("space", ["joint_position", "joint_velocity"])
def test_the_host_takes_what_comes_out(space: Any) -> None:
    action, _ = action_of(answer([0.3] * 8), space, 8)
    kind = "joint_positions" if space == "joint_position" else "joint_velocities"
    assert checked_action(action, "pi0", (kind,)).rows.shape == (8, 8)  # type: ignore[union-attr]
