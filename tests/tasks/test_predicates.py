"""Predicates on hand-made states."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import radians
from typing import Any

import pytest

from rbench.geometry import axis_angle
from rbench.tasks.predicates import (
    PREDICATES,
    at_rest,
    grasped,
    in_box,
    in_container,
    lifted,
    on_table,
    released,
    upright,
)
from rbench.tasks.task import Task
from rbench.world_state import WorldState

State = Callable[..., WorldState]
UPSIDE_DOWN = axis_angle((1.0, 0.0, 0.0), radians(180))
FINGERS = (("geometry", "left_finger"), ("geometry", "right_finger"))


def tilted(degrees: float) -> Any:
    return axis_angle((1.0, 0.0, 0.0), radians(degrees))


def test_an_object_on_the_floor_of_the_box_is_in_it(inside: State) -> None:
    assert in_container(inside(), "geometry", "box")


def test_an_object_on_the_table_is_not_in_the_box(state: State) -> None:
    assert not in_container(state(), "geometry", "box")


def test_an_object_above_the_rim_is_not_in_the_box(state: State) -> None:
    assert not in_box(state((0.5, -0.15, 0.07)), "geometry", "box")


@pytest.mark.parametrize("shift", [(0.061, 0.0), (-0.061, 0.0), (0.0, 0.061), (0.0, -0.061)])
def test_an_object_beside_a_wall_is_not_in_the_box(state: State, shift: tuple[float, float]) -> None:
    assert not in_box(state((0.5 + shift[0], -0.15 + shift[1], 0.03)), "geometry", "box")


@pytest.mark.parametrize("shift", [(0.059, 0.0), (-0.059, 0.0), (0.0, 0.059), (0.0, -0.059)])
def test_an_object_along_a_wall_is_in_the_box(state: State, shift: tuple[float, float]) -> None:
    assert in_box(state((0.5 + shift[0], -0.15 + shift[1], 0.03)), "geometry", "box")


def test_the_cavity_turns_with_the_box(state: State) -> None:
    corner = (0.5 + 0.075, -0.15, 0.03)  # outside the walls of the straight box, in the corner of the turned one
    turned = axis_angle((0.0, 0.0, 1.0), radians(45))
    assert not in_box(state(corner), "geometry", "box")
    assert in_box(state(corner, box_quaternion=turned), "geometry", "box")


def test_the_cavity_tilts_with_the_box(state: State) -> None:
    box = tilted(30)
    # 4 cm up the tilted axis: R (0, 0, 0.04).
    point = (0.5, -0.15 - 0.04 * 0.5, 0.04 * 0.8660254)
    assert in_box(state(point, box_quaternion=box), "geometry", "box")
    assert not in_box(state((0.5, -0.15 + 0.08, 0.02), box_quaternion=box), "geometry", "box")


@pytest.mark.parametrize(("degrees", "holds"), [(44, True), (46, False), (90, False), (180, False)])
def test_a_box_tilted_beyond_45_degrees_holds_nothing(inside: State, degrees: float, holds: bool) -> None:
    assert in_container(inside(box_quaternion=tilted(degrees)), "geometry", "box") == holds


def test_what_touches_nothing_inside_is_not_supported(inside: State) -> None:
    assert in_box(inside(()), "geometry", "box")
    assert not in_container(inside(()), "geometry", "box")


def test_an_object_on_another_one_inside_is_in_the_box(inside: State) -> None:
    contacts = (("geometry", "other"), ("other", "box"))
    assert in_container(inside(contacts, other=(0.5, -0.15, 0.02)), "geometry", "box")


def test_support_from_something_outside_the_box_does_not_count(inside: State) -> None:
    contacts = (("geometry", "other"), ("other", "box"))
    assert not in_container(inside(contacts, other=(0.5, -0.15, 0.2)), "geometry", "box")


def test_a_box_put_over_an_object_on_the_table_does_not_contain_it(inside: State) -> None:
    contacts = (("geometry", "table"), ("geometry", "box"))
    assert not in_container(inside(contacts, box=(0.5, -0.15, 0.06), box_quaternion=UPSIDE_DOWN), "geometry", "box")


@pytest.mark.parametrize("ground", ["table", "floor"])
def test_an_object_that_touches_the_ground_is_not_in_the_box(inside: State, ground: str) -> None:
    assert not in_container(inside((("geometry", "box"), ("geometry", ground))), "geometry", "box")


@pytest.mark.parametrize("part", ["left_finger", "right_finger", "robot"])
def test_released_means_that_no_part_of_the_robot_touches_it(state: State, part: str) -> None:
    assert released(state(), "geometry")
    assert not released(state(contacts=(("geometry", part),)), "geometry")


@pytest.mark.parametrize(
    ("changes", "rests"),
    [
        ({}, True),
        ({"linear": (0.009, 0.0, 0.0)}, True),
        ({"linear": (0.0, 0.0, -0.011)}, False),
        ({"linear": (0.007, 0.007, 0.007)}, False),
        ({"angular": (0.0, 0.09, 0.0)}, True),
        ({"angular": (0.0, 0.0, 0.11)}, False),
        ({"linear": (float("nan"), 0.0, 0.0)}, False),
    ],
)
def test_at_rest_means_slower_than_1_cm_and_6_degrees_a_second(
    state: State, changes: dict[str, Any], rests: bool
) -> None:
    assert at_rest(state(**changes), "geometry") == rests


def test_both_fingers_off_the_table_make_a_grasp(state: State) -> None:
    assert grasped(state(contacts=FINGERS), "geometry")


@pytest.mark.parametrize("missing", [0, 1])
def test_one_finger_is_no_grasp(state: State, missing: int) -> None:
    assert not grasped(state(contacts=(FINGERS[missing],)), "geometry")


@pytest.mark.parametrize("ground", ["table", "floor"])
def test_a_pinch_on_the_ground_is_no_grasp(state: State, ground: str) -> None:
    assert not grasped(state(contacts=(*FINGERS, ("geometry", ground))), "geometry")


def test_an_object_held_against_the_wall_of_the_box_is_grasped_but_not_lifted(state: State) -> None:
    held = state(contacts=(*FINGERS, ("geometry", "box")))
    assert grasped(held, "geometry")
    assert not lifted(held, "geometry")


def test_lifted_means_that_the_robot_alone_carries_it(state: State) -> None:
    assert lifted(state(contacts=FINGERS), "geometry")
    assert not lifted(state(contacts=()), "geometry")
    assert not lifted(state(), "geometry")


def test_on_table_is_contact_with_the_table(state: State) -> None:
    assert on_table(state(), "geometry")
    assert not on_table(state(contacts=FINGERS), "geometry")


@pytest.mark.parametrize(("degrees", "stands"), [(0, True), (14, True), (16, False), (180, False)])
def test_upright_means_within_15_degrees(state: State, degrees: float, stands: bool) -> None:
    assert upright(state(quaternion=tilted(degrees)), "geometry") == stands


def test_every_predicate_says_what_it_means_and_takes() -> None:
    for name, predicate in PREDICATES.items():
        assert predicate.function.__name__ == name
        assert set(predicate.parameters) <= {"object", "container"}
        assert predicate.summary.endswith(".")


def test_a_goal_is_judged_in_microseconds(inside: State, task: Task) -> None:
    now = inside()
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(100):
            assert all(condition.holds(now) for condition in task.goal)
        best = min(best, (time.perf_counter() - start) / 100)
    assert best < 100e-6
