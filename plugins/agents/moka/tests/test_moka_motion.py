"""Grasps and phases: where the gripper closes, in which order the hand moves, and how high."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rbench.geometry import Pose, rotation_matrix
from rbench_agent_moka.antipodal import Sampling, sample_pairs
from rbench_agent_moka.grasping import HOME_ANGLE, Grasp, grasp_at, pointing_down
from rbench_agent_moka.keypoints import outline
from rbench_agent_moka.lifting import body_of
from rbench_agent_moka.options import Options
from rbench_agent_moka.phases import CLEARANCE, LOWEST, RELEASE_RISE, Motion, phases
from rbench_agent_moka.sight import Sight

HERE = Pose((0.3, 0.0, 0.4), (0.0, 1.0, 0.0, 0.0))
TABLE = 0.1
GRASP = Grasp(np.array([0.5, 0.1, TABLE + 0.05]), HOME_ANGLE, "mask_pca")
MOTION = Motion(
    table=TABLE,
    grasp=GRASP,
    object_height=0.05,
    function=None,
    target=np.array([0.4, -0.1, TABLE + 0.055]),
    rim=TABLE + 0.055,
    pre=np.array([0.6, 0.2, TABLE]),
    pre_height="above",
    post=None,
    post_height="above",
)


def steps(motion: Motion, mode: str = "fixed", first: bool = True):
    return {p.name: p.goal for p in phases(motion, HERE, first, Options(mode=mode))}  # type: ignore[arg-type]


def test_a_waypoint_before_contact_is_skipped_when_something_is_picked_and_placed() -> None:
    assert not {"reach_pre_motion", "reach_pre_contact", "reach_post_contact"} & set(steps(MOTION))


def test_something_is_let_go_above_the_rim_with_what_hangs_below_the_hand() -> None:
    goals = steps(MOTION)
    hanging = goals["reach_grasp"].position[2] - TABLE
    assert goals["reach_target"].position == pytest.approx((0.4, -0.1, TABLE + 0.055 + hanging + CLEARANCE))


def test_the_gripper_is_closed_from_the_grip_to_the_release() -> None:
    closed = [goal.gripper for goal in steps(MOTION).values()]
    assert closed == [0, 0, 1, 1, 1, 1, 0, 0]


def test_as_published_it_opens_while_it_rises() -> None:
    goals = steps(MOTION, mode="paper")
    assert "release_rise" not in goals
    assert goals["release"].position[2] == pytest.approx(goals["reach_target"].position[2] + RELEASE_RISE)
    assert goals["release"].gripper == 0.0


def test_a_later_subtask_begins_with_a_lift_with_the_hand_open() -> None:
    assert next(iter(steps(MOTION, first=False))) == "lift_open"


@pytest.mark.parametrize(("height", "expected"), [("same", "low"), ("above", "safe")])
def test_heights_before_and_after_contact_are_executed(height: str, expected: str) -> None:
    function = np.array([0.5, 0.16, TABLE + 0.05])
    motion = replace(MOTION, function=function, post=MOTION.pre, pre_height=height, post_height=height)
    goals = steps(motion)
    wanted = motion.grasp_height + 0.01 if expected == "low" else motion.safe_height
    assert goals["reach_pre_contact"].position[2] == pytest.approx(wanted)
    assert goals["reach_post_contact"].position[2] == pytest.approx(wanted)
    assert goals["reach_pre_motion"].position == pytest.approx((0.6, 0.2, motion.safe_height))


@pytest.mark.parametrize(
    ("height", "pre", "target"), [("same", "low_speed", "high_speed"), ("above", "high_speed", "low_speed")]
)
def test_speeds_follow_the_height_before_contact_as_published(height: str, pre: str, target: str) -> None:
    motion = replace(MOTION, function=np.array([0.5, 0.16, TABLE]), pre_height=height)  # type: ignore[arg-type]
    goals = steps(motion)
    assert goals["reach_pre_contact"].speed == getattr(Options(), pre)
    assert goals["reach_target"].speed == getattr(Options(), target)


def test_a_high_waypoint_at_the_height_of_contact_stays_high() -> None:
    motion = replace(MOTION, function=np.array([0.5, 0.16, TABLE]), pre=np.array([0.6, 0.2, 0.25]), pre_height="same")
    assert steps(motion)["reach_pre_contact"].position[2] == pytest.approx(0.25)


def test_the_function_point_reaches_the_target_after_the_hand_has_turned() -> None:
    # Fingers along x at the grasp, along y afterwards: a quarter turn. What pointed along y points along x then.
    grasp = replace(GRASP, angle=0.0)
    motion = replace(MOTION, grasp=grasp, function=np.array([0.5, 0.18, TABLE + 0.05]), pre=None)
    hand = np.array(steps(motion)["reach_target"].position[:2])
    turn = HOME_ANGLE - grasp.angle
    c, s = math.cos(turn), math.sin(turn)
    offset = np.array([[c, -s], [s, c]]) @ np.array([0.0, 0.08])
    assert hand + offset == pytest.approx([0.4, -0.1])
    assert offset == pytest.approx([0.08, 0.0])


def test_without_a_grasp_the_closed_hand_goes_to_the_target() -> None:
    motion = replace(MOTION, grasp=None, object_height=0.0, rim=None)
    goals = steps(motion)
    assert list(goals)[:2] == ["lift_open", "grip"]
    assert goals["reach_target"].position[:2] == (0.4, -0.1)
    assert all(
        goal.gripper == 1.0 for name, goal in goals.items() if name not in ("lift_open", "release", "release_rise")
    )


def test_the_hand_never_goes_into_the_table() -> None:
    low = replace(GRASP, surface=np.array([0.5, 0.1, TABLE - 0.05]))
    motion = replace(MOTION, grasp=low, target=np.array([0.4, 0.0, TABLE - 0.1]), rim=None)
    assert min(goal.position[2] for goal in steps(motion).values()) >= TABLE + LOWEST - 1e-9


@pytest.mark.parametrize("angle", [-math.pi / 2, -0.3, 0.0, -2.5])
def test_the_hand_points_down_with_its_fingers_along_the_angle(angle: float) -> None:
    turned = rotation_matrix(pointing_down(angle))
    assert turned[:, 2] == pytest.approx([0, 0, -1])
    assert abs(turned[:, 1] @ [math.cos(angle), math.sin(angle), 0]) == pytest.approx(1)


def seen_from_above(half: tuple[float, float], turn: float, height: float = 0.04) -> tuple[Sight, np.ndarray]:
    """A block on a table half a metre below a camera that looks straight down, a pixel a millimetre."""
    y, x = (np.mgrid[0:200, 0:200] - 99.5) / 1000
    c, s = math.cos(turn), math.sin(turn)
    inside = (np.abs(c * x + s * y) < half[0]) & (np.abs(c * y - s * x) < half[1])
    z = np.where(inside, height, 0.0)
    # Picture: x to the right and y down; base frame: x to the right and y up, so that z is up.
    points = np.stack([x, -y, z], axis=-1)
    pose = np.diag([1.0, -1.0, -1.0, 1.0])
    sight = Sight(
        rgb=np.zeros((200, 200, 3), dtype=np.uint8),
        depth=0.5 - z,
        points=points,
        footprint=np.full((200, 200), 0.001),
        extrinsics=pose,
        truth=None,
        base=Pose(),
        time=0.0,
    )
    return sight, inside


def grasped(half: tuple[float, float], turn: float, chosen: int = 0, **options: object) -> Grasp:
    sight, mask = seen_from_above(half, turn)
    thing = outline("block", mask, (0.0, 0.0, 200.0, 200.0), 6)
    body = body_of(sight, mask, np.zeros_like(mask))
    return grasp_at(sight, thing, body, chosen, Options(**options), np.random.default_rng(0))  # type: ignore[arg-type]


def apart(a: float, b: float) -> float:
    """Between two lines, rad."""
    return abs((a - b + math.pi / 2) % math.pi - math.pi / 2)


@pytest.mark.parametrize("turn", [0.0, 0.4, 1.2, -0.7])
@pytest.mark.parametrize(("how", "near"), [("mask_pca", 0.05), ("antipodal", math.pi / 4)])  # the friction cone
def test_a_long_block_is_grasped_across_its_short_side(turn: float, how: str, near: float) -> None:
    grasp = grasped((0.045, 0.015), turn, grasp=how)
    assert grasp.how == how
    # In the base frame y is up in the picture: the long side lies at -turn.
    assert apart(grasp.angle, -turn + math.pi / 2) < near
    assert -math.pi < grasp.angle <= 0


@pytest.mark.parametrize("turn", [0.0, 0.3, -0.3])
def test_a_square_block_is_grasped_in_line_with_its_faces_with_the_least_turn(turn: float) -> None:
    grasp = grasped((0.025, 0.025), turn)
    assert apart(grasp.angle, HOME_ANGLE - turn) < 0.03
    assert grasp.surface == pytest.approx([0, 0, 0.04], abs=0.002)


@pytest.mark.parametrize("how", ["mask_pca", "antipodal"])
def test_the_grasp_is_near_the_middle_of_the_top(how: str) -> None:
    grasp = grasped((0.025, 0.025), 0.2, grasp=how)
    assert np.linalg.norm(grasp.surface[:2]) < 0.012
    assert grasp.surface[2] == pytest.approx(0.04, abs=0.001)


def test_a_small_object_ends_in_the_fallback_as_published() -> None:
    grasp = grasped((0.012, 0.012), 0.3, mode="paper")
    assert grasp.how == "fallback"
    assert apart(grasp.angle, 0.0) < 1e-6  # across the picture
    assert grasp.surface == pytest.approx([0, 0, 0.04], abs=0.001)


def test_no_proposal_near_the_keypoint_ends_in_the_fallback_at_the_keypoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rbench_agent_moka.grasping.sample_pairs", lambda *_: [])
    grasp = grasped((0.02, 0.02), 0.0, chosen=1, grasp="antipodal")
    assert grasp.how == "fallback"
    assert grasp.surface[:2] == pytest.approx([-0.0195, 0.0195], abs=0.002)


def test_a_flat_picture_has_no_grasps() -> None:
    assert sample_pairs(np.full((100, 100), 0.5), Sampling(width=70), np.random.default_rng(0)) == []
    assert sample_pairs(np.full((4, 4), 0.5), Sampling(width=70), np.random.default_rng(0)) == []


def test_what_is_wider_than_the_gripper_has_no_grasps() -> None:
    depth = np.full((200, 200), 0.5)
    depth[50:150, 50:150] = 0.45
    assert sample_pairs(depth, Sampling(width=110), np.random.default_rng(0))
    assert sample_pairs(depth, Sampling(width=90, border=60), np.random.default_rng(0)) == []
