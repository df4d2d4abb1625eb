"""Confirmed success, graded score and events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import radians
from typing import Any

import pytest

from rbench.geometry import axis_angle
from rbench.tasks.monitor import TaskMonitor
from rbench.tasks.task import Condition, Task
from rbench.world_state import WorldState

State = Callable[..., WorldState]
FINGERS = (("geometry", "left_finger"), ("geometry", "right_finger"))
UPSIDE_DOWN = axis_angle((1.0, 0.0, 0.0), radians(180))


def watched(task: Task, states: Iterable[WorldState]) -> TaskMonitor:
    """A monitor after states at 20 Hz; the first is the reset."""
    monitor = TaskMonitor(task)
    for i, state in enumerate(states):
        monitor.update(state._replace(time=0.05 * i))
    return monitor


def event_names(monitor: TaskMonitor) -> list[str]:
    return [event.name for event in monitor.events]


#: The hand-made states of which only the last is a success, and some more that look like one.
HAND_MADE: dict[str, tuple[dict[str, Any], bool]] = {
    "held above the box": ({"position": (0.5, -0.15, 0.12), "contacts": FINGERS}, False),
    "resting on the rim and falling": (
        {"position": (0.56, -0.15, 0.07), "contacts": (("geometry", "box"),), "linear": (-0.05, 0.0, -0.2)},
        False,
    ),
    "resting on the rim": ({"position": (0.56, -0.15, 0.07), "contacts": (("geometry", "box"),)}, False),
    "resting on the upturned box": (
        {
            "position": (0.5, -0.15, 0.085),
            "contacts": (("geometry", "box"),),
            "box": (0.5, -0.15, 0.065),
            "box_quaternion": UPSIDE_DOWN,
        },
        False,
    ),
    "under the upturned box": (
        {
            "position": (0.5, -0.15, 0.02),
            "contacts": (("geometry", "box"), ("geometry", "table")),
            "box": (0.5, -0.15, 0.065),
            "box_quaternion": UPSIDE_DOWN,
        },
        False,
    ),
    "on the table, with the box pushed against it": (
        {"position": (0.45, -0.15, 0.02), "contacts": (("geometry", "box"), ("geometry", "table"))},
        False,
    ),
    "inside and still gripped": (
        {"position": (0.5, -0.15, 0.025), "contacts": (*FINGERS, ("geometry", "box"))},
        False,
    ),
    "inside and still touched by the arm": (
        {"position": (0.5, -0.15, 0.025), "contacts": (("geometry", "robot"), ("geometry", "box"))},
        False,
    ),
    "inside and falling": ({"position": (0.5, -0.15, 0.04), "contacts": (), "linear": (0.0, 0.0, -0.5)}, False),
    "released and at rest inside": ({"position": (0.5, -0.15, 0.025), "contacts": (("geometry", "box"),)}, True),
}


@pytest.mark.parametrize(("changes", "success"), HAND_MADE.values(), ids=HAND_MADE)
def test_only_an_object_released_and_at_rest_inside_is_a_success(
    state: State, task: Task, changes: dict[str, Any], success: bool
) -> None:
    assert watched(task, [state(), *([state(**changes)] * 40)]).succeeded == success


def test_the_goal_must_hold_for_its_time(state: State, inside: State, task: Task) -> None:
    assert not watched(task, [state(), *([inside()] * 4)]).succeeded  # 0.15 s
    assert watched(task, [state(), *([inside()] * 5)]).succeeded  # 0.20 s


def test_it_knows_how_many_ticks_success_or_an_end_is_away_at_least(state: State, inside: State, task: Task) -> None:
    monitor, now, far = TaskMonitor(task), 0.0, 15.0
    monitor.update(state(time=0.0))
    assert monitor.ticks_before(far, 20) == 5  # the goal would hold after one, and must for 0.2 s
    assert [monitor.ticks_before(end, 20) for end in (0.01, 0.05, 0.051, 0.2, 0.0)] == [1, 1, 2, 4, 1]
    for left in (4, 3, 2, 1):
        now += 0.05
        monitor.update(inside(time=now))
        assert monitor.ticks_before(far, 20) == left
        assert not monitor.succeeded
    monitor.update(inside(time=now + 0.05))
    assert monitor.succeeded


def test_an_interruption_starts_the_time_anew(state: State, inside: State, task: Task) -> None:
    moving = inside(linear=(0.1, 0.0, 0.0))
    assert not watched(task, [state(), *([inside()] * 4), moving, *([inside()] * 4)]).succeeded
    assert watched(task, [state(), *([inside()] * 4), moving, *([inside()] * 5)]).succeeded


def test_the_time_of_confirmation_does_not_depend_on_rounding(inside: State, state: State, task: Task) -> None:
    monitor = TaskMonitor(task)
    monitor.update(state(time=0.0))
    now = 0.7
    for _ in range(13):  # 12 intervals of 1/60 s are 0.2 s, up to rounding
        monitor.update(inside(time=now))
        now += 1 / 60
    assert monitor.succeeded


def test_a_success_is_not_taken_back(state: State, inside: State, task: Task) -> None:
    monitor = watched(task, [state(), *([inside()] * 5), state()])
    assert monitor.succeeded
    assert not monitor.goal_holds
    assert event_names(monitor).count("goal_confirmed") == 1


def test_a_goal_that_holds_at_reset_is_noticed(state: State, inside: State, task: Task) -> None:
    assert watched(task, [inside(), state()]).held_at_reset
    assert not watched(task, [state(), inside()]).held_at_reset


def test_the_score_is_the_share_of_subtasks_reached(state: State, task: Task) -> None:
    monitor = TaskMonitor(task)
    monitor.update(state())
    assert monitor.score == 0.0
    monitor.update(state(contacts=FINGERS))
    assert monitor.score == 0.5


def test_a_subtask_stays_reached(state: State, task: Task) -> None:
    assert watched(task, [state(), state(contacts=FINGERS), state()]).score == 0.5


def test_success_scores_one_however_it_was_reached(state: State, inside: State, task: Task) -> None:
    assert watched(task, [state(), *([inside()] * 5)]).score == 1.0


def test_a_task_without_subtasks_scores_its_success(state: State, inside: State, task: Task) -> None:
    bare = replace(task, subtasks=())
    assert watched(bare, [state()] * 5).score == 0.0
    assert watched(bare, [state(), *([inside()] * 5)]).score == 1.0


def test_the_events_of_a_clean_episode(state: State, inside: State, task: Task) -> None:
    held_inside = inside((*FINGERS, ("geometry", "box")))
    monitor = watched(task, [state(), state(contacts=FINGERS), held_inside, *([inside()] * 5)])
    assert [(event.name, event.detail, round(event.time, 2)) for event in monitor.events] == [
        ("grasped", "geometry", 0.05),
        ("subtask_reached", "grasped", 0.05),
        ("subtask_reached", "in_box", 0.1),
        ("goal_confirmed", "", 0.35),
    ]


def test_an_object_lost_outside_its_box_was_dropped(state: State, task: Task) -> None:
    monitor = watched(task, [state(), state(contacts=FINGERS), state(contacts=()), state()])
    assert event_names(monitor) == ["grasped", "subtask_reached", "dropped"]


def test_a_finger_that_lets_go_for_a_moment_drops_nothing(state: State, task: Task) -> None:
    states = [state(), state(contacts=FINGERS), state(contacts=FINGERS[:1]), state(contacts=FINGERS)]
    assert event_names(watched(task, states)) == ["grasped", "subtask_reached"]


def test_each_grasp_and_each_drop_is_an_event(state: State, task: Task) -> None:
    once = [state(contacts=FINGERS), state()]
    assert event_names(watched(task, [state(), *once, *once])).count("dropped") == 2


def test_a_thing_that_nobody_held_is_not_dropped(state: State, task: Task) -> None:
    assert event_names(watched(task, [state(), state(contacts=()), state()])) == []


def test_a_task_knows_its_objects_and_their_receptacles(task: Task) -> None:
    assert task.objects == ("geometry",)
    assert task.containers_of("geometry") == ("box",)
    assert replace(task, goal=(Condition("upright", {"object": "other"}),)).containers_of("other") == ()
