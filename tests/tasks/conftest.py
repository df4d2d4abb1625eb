"""Hand-made states of a table with an object, a second object and an open box."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from rbench.geometry import IDENTITY, Quaternion, Vec3
from rbench.tasks.task import Condition, Subtask, Task
from rbench.world_state import BodyState, RobotState, WorldState

ROBOT = RobotState(np.zeros(7), np.zeros(7), np.array([0.4, 0.0, 0.3]), np.array([1.0, 0.0, 0.0, 0.0]), 0.0)

#: Where the box stands; its cavity is 12 x 12 x 6 cm above a floor 5 mm thick.
BOX: Vec3 = (0.5, -0.15, 0.0)


def body(position: Vec3, quaternion: Quaternion, linear: Vec3, angular: Vec3) -> BodyState:
    return BodyState(np.array(position), np.array(quaternion), np.array(linear), np.array(angular))


@pytest.fixture
def state() -> Callable[..., WorldState]:
    """A state; by default the object stands on the table beside the box, at rest."""

    def make(
        position: Vec3 = (0.45, 0.1, 0.02),
        contacts: Iterable[tuple[str, str]] = (("geometry", "table"),),
        *,
        time: float = 0.0,
        quaternion: Quaternion = IDENTITY,
        linear: Vec3 = (0.0, 0.0, 0.0),
        angular: Vec3 = (0.0, 0.0, 0.0),
        box: Vec3 = BOX,
        box_quaternion: Quaternion = IDENTITY,
        other: Vec3 = (0.6, 0.2, 0.02),
    ) -> WorldState:
        still: tuple[Any, Any] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        return WorldState(
            time=time,
            robot=ROBOT,
            bodies={
                "geometry": body(position, quaternion, linear, angular),
                "other": body(other, IDENTITY, *still),
                "box": body(box, box_quaternion, *still),
            },
            contacts=frozenset((min(pair), max(pair)) for pair in contacts),
            cavities={"box": (0.12, 0.12, 0.06)},
            floors={"box": 0.005},
        )

    return make


@pytest.fixture
def inside(state: Callable[..., WorldState]) -> Callable[..., WorldState]:
    """The object in the box: released and at rest, unless told otherwise."""

    def make(contacts: Iterable[tuple[str, str]] = (("geometry", "box"),), **changes: Any) -> WorldState:
        return state((0.5, -0.15, 0.025), contacts, **changes)

    return make


@pytest.fixture
def task() -> Task:
    """Put the object into the box."""
    in_box = {"object": "geometry", "container": "box"}
    it = {"object": "geometry"}
    return Task(
        name="put-in",
        kind="manipulation",
        scene="tiny",
        instruction="Put the object in the box.",
        goal=(Condition("in_container", in_box), Condition("released", it), Condition("at_rest", it)),
        hold=0.2,
        subtasks=(
            Subtask("grasped", (Condition("grasped", it),)),
            Subtask("in_box", (Condition("in_box", in_box),)),
        ),
        limit=10.0,
    )
