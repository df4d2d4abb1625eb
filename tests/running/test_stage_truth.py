"""What was true at the stages that an agent reports, from a trajectory that is written down here."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from rbench.plugins.catalog import build_catalog
from rbench.record import Trajectory
from rbench.running.stage_truth import stage_truth
from rbench.scene import Setup
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite

RATE, ROWS = 10, 61
OBJECT, BOX = (0.49, 0.04, 0.025), (0.36, -0.055, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(build_catalog(), "roboview-bias")


def trajectory(
    *, closes: bool = True, lift: bool = True, slip: bool = False, place: bool = True, opens: bool = True
) -> Trajectory:
    """Down to the object, closed from 1 s on, lifted at 2 s, above the box at 4 s, opened at 5 s."""
    rows = np.arange(ROWS)
    time = rows / RATE
    closed = (time >= 1.0) & ((time < 5.0) | (not opens)) & closes
    held = (time >= 1.2) & ((time <= 5.0) | (not opens)) & closes & lift
    held &= ~((time >= 3.0) & slip)
    tip = np.tile([*OBJECT, *IDENTITY], (ROWS, 1)).astype(np.float32)
    body = tip.copy()
    carried = held & (time >= 2.0)
    body[carried, 2] += 0.15
    if place:
        body[(time >= 4.0) & lift & closes & (not slip), :2] = BOX[:2]
    box = np.tile([*BOX, *IDENTITY], (ROWS, 1)).astype(np.float32)
    commands = np.zeros((ROWS - 1, 8))
    commands[:, 7] = closed[:-1]
    pairs = ("geometry|left_finger", "geometry|right_finger", "geometry|table")
    return Trajectory(
        control_rate=RATE,
        time=time,
        joint_positions=np.zeros((ROWS, 7), dtype=np.float32),
        joint_velocities=np.zeros((ROWS, 7), dtype=np.float32),
        gripper=closed.astype(np.float32),
        end_effector=tip,
        commands=commands,
        bodies={"geometry": body, "box": box},
        contact_pairs=pairs,
        contacts=np.stack([held, held, ~carried], axis=1),
    )


def truth(suite: Suite, *stages: Any, moved: Trajectory | None = None, success: bool = False) -> dict[str, Any]:
    task = suite.tasks[0]
    setup = Setup(suite.scenes[task.scene], task.instruction)
    found = stage_truth({"stages": list(stages)}, moved or trajectory(), setup, task, success)
    json.dumps(found, allow_nan=False)
    result: dict[str, Any] = found["truth"]
    return result


def claim(role: str, point: tuple[float, float, float], stage: str = "detect", time: float = 0.0) -> dict[str, Any]:
    return {"stage": stage, "role": role, "point": list(point), "time": time}


def test_a_point_on_the_right_thing_is_right_and_its_errors_are_told(suite: Suite) -> None:
    (stage,) = truth(suite, claim("object", (0.493, 0.044, 0.055)))["stages"]
    assert stage["right"] is True
    assert stage["thing"] == "geometry"
    assert stage["error_mm"] == pytest.approx(5.0, abs=0.01)
    assert stage["outside_mm"] == pytest.approx(5.0, abs=0.01)


@pytest.mark.parametrize(("role", "point"), [("object", BOX), ("destination", OBJECT)])
def test_a_point_on_another_thing_is_wrong(suite: Suite, role: str, point: tuple[float, float, float]) -> None:
    (stage,) = truth(suite, claim(role, point))["stages"]
    assert stage["right"] is False


def test_a_point_on_nothing_is_wrong(suite: Suite) -> None:
    (stage,) = truth(suite, claim("object", (0.7, 0.3, 0.0)))["stages"]
    assert stage["thing"] is None
    assert stage["right"] is False


def test_a_claim_is_compared_with_what_was_true_when_it_was_made(suite: Suite) -> None:
    early, late = truth(suite, claim("object", BOX, time=0.0), claim("object", BOX, time=4.5))["stages"]
    assert early["right"] is False
    assert late["error_mm"] == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize(("named", "right"), [("red cube", True), ("yellow box", False), ("banana", None)])
def test_a_name_is_right_when_it_means_the_right_thing(suite: Suite, named: str, right: bool | None) -> None:
    (stage,) = truth(suite, {"stage": "plan", "role": "object", "named": named})["stages"]
    assert stage["right"] is right


def test_the_motion_is_told_from_contacts_and_commands(suite: Suite) -> None:
    motion = truth(suite, claim("object", OBJECT), success=True)["motion"]
    assert motion["reached"]
    assert motion["held"]
    assert not motion["slipped"]
    assert motion["over"]
    assert motion["release_mm"] == pytest.approx(0.0, abs=0.01)


def test_success_is_lost_nowhere(suite: Suite) -> None:
    assert truth(suite, claim("object", BOX), success=True)["lost_at"] is None


@pytest.mark.parametrize(
    ("moved", "where"),
    [
        (trajectory(closes=False), "reach"),
        (trajectory(lift=False), "hold"),
        (trajectory(slip=True), "carry"),
        (trajectory(place=False), "release"),
        (trajectory(opens=False), "release"),
        (trajectory(), "settle"),
    ],
)
def test_a_failure_of_the_motion_is_lost_where_it_went_wrong(suite: Suite, moved: Trajectory, where: str) -> None:
    assert truth(suite, claim("object", OBJECT), moved=moved)["lost_at"] == where


def test_a_wrong_claim_loses_the_episode_unless_it_is_put_right(suite: Suite) -> None:
    wrong, right = claim("object", BOX), claim("object", OBJECT, "lift")
    assert truth(suite, wrong, moved=trajectory(lift=False))["lost_at"] == "detect object"
    assert truth(suite, wrong, right, moved=trajectory(lift=False))["lost_at"] == "hold"


def test_a_stage_that_failed_loses_the_episode(suite: Suite) -> None:
    failed = {"stage": "detect", "failed": "no_detection:cube"}
    found = truth(suite, claim("object", OBJECT, "plan"), failed, moved=trajectory(closes=False))
    assert found["lost_at"] == "detect"
    assert found["stages"][-1]["failed"] == "no_detection:cube"


@pytest.mark.parametrize("report", [{}, {"stages": "all"}, {"stages": None}, None, [], "stages"])
def test_an_agent_that_reports_no_stages_gets_no_truth(suite: Suite, report: Any) -> None:
    task = suite.tasks[0]
    setup = Setup(suite.scenes[task.scene], task.instruction)
    assert stage_truth(report, trajectory(), setup, task, False) == {}


@pytest.mark.parametrize(
    "stage",
    [
        {"stage": "x", "point": [1, 2]},
        {"stage": "x", "point": [1e300, float("inf"), 0], "role": "object"},
        {"stage": "x", "point": "abc", "role": ["object"]},
        {"stage": "x" * 1000, "time": float("nan"), "point": [0, 0, 0], "role": "destination"},
        {"stage": "x", "time": 1e300, "point": [0, 0, 0], "role": "object", "named": 5, "failed": 7},
        {"stage": 5},
        "x",
    ],
)
def test_whatever_is_reported_the_truth_is_plain(suite: Suite, stage: Any) -> None:
    assert truth(suite, stage)["motion"]["held"]


def test_of_a_diverged_simulation_nothing_is_true(suite: Suite) -> None:
    moved = trajectory()
    moved.bodies["geometry"][-1] = np.nan
    task = suite.tasks[0]
    setup = Setup(suite.scenes[task.scene], task.instruction)
    assert stage_truth({"stages": [claim("object", OBJECT)]}, moved, setup, task, False) == {}
