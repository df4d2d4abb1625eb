"""Goal predicates: pure functions on a `WorldState`.

A suite names a predicate and its arguments; nothing else decides whether a task was done. They are
called at every control tick, so they use plain arithmetic on the few numbers they need. `object` is
any free body (a receptacle too), `container` a receptacle.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import cos, radians

from rbench.geometry import Vec3
from rbench.world_state import FLOOR, LEFT_FINGER, RIGHT_FINGER, ROBOT_PARTS, TABLE, WorldState

#: A receptacle tilted further than this no longer holds what is in it.
UPRIGHT_RECEPTACLE = cos(radians(45.0))

#: An object tilted further than this is not upright.
UPRIGHT_OBJECT = cos(radians(15.0))

#: At rest means slower than this, m/s. A resting body of a contact solver creeps by some 1e-4 m/s; one that
#: falls, slides or rolls off a rim is ten times faster than this.
REST_SPEED = 0.01

#: At rest means turning slower than this, rad/s: below what a 2 cm cylinder rolling at `REST_SPEED` needs (0.5).
REST_TURN = 0.1


def in_box(state: WorldState, object: str, container: str) -> bool:
    """The object's centre lies in the cavity of an upright receptacle: between its walls, floor and rim.

    Positions alone: the gripper may still hold the object.
    """
    receptacle = state.bodies[container]
    w, x, y, z = receptacle.quaternion.tolist()
    up = 1.0 - 2.0 * (x * x + y * y)
    if not up >= UPRIGHT_RECEPTACLE:
        return False
    local = _into_frame((w, x, y, z), state.bodies[object].position.tolist(), receptacle.position.tolist())
    length, width, height = state.cavities[container]
    floor = state.floors[container]
    return abs(local[0]) < 0.5 * length and abs(local[1]) < 0.5 * width and floor < local[2] < floor + height


def in_container(state: WorldState, object: str, container: str) -> bool:
    """The receptacle, and nothing outside it, carries the object: `in_box`, supported by it, off table and floor.

    Supported means in contact with the receptacle, or with bodies inside it that lead to such a contact.
    """
    if state.touches(object, TABLE) or state.touches(object, FLOOR) or not in_box(state, object, container):
        return False
    return _carried_by(state, object, container)


def released(state: WorldState, object: str) -> bool:
    """No part of the robot touches the object."""
    return not any(state.touches(object, part) for part in ROBOT_PARTS)


def at_rest(state: WorldState, object: str) -> bool:
    """The object moves slower than `REST_SPEED` and turns slower than `REST_TURN`."""
    body = state.bodies[object]
    u, v, w = body.linear_velocity.tolist()
    p, q, r = body.angular_velocity.tolist()
    return bool(u * u + v * v + w * w < REST_SPEED**2 and p * p + q * q + r * r < REST_TURN**2)


def grasped(state: WorldState, object: str) -> bool:
    """Both fingers touch the object and it is off the table and the floor.

    A pinch that has not lifted the object yet is no grasp. Contact with a receptacle or another object
    does not matter: an object held against the wall of a box is still held.
    """
    return (
        state.touches(object, LEFT_FINGER)
        and state.touches(object, RIGHT_FINGER)
        and not state.touches(object, TABLE)
        and not state.touches(object, FLOOR)
    )


def lifted(state: WorldState, object: str) -> bool:
    """The robot alone carries the object: something of the robot touches it and nothing else does."""
    touching = state.touching(object)
    return bool(touching) and touching <= _ROBOT


def on_table(state: WorldState, object: str) -> bool:
    """The object touches the table."""
    return state.touches(object, TABLE)


def upright(state: WorldState, object: str) -> bool:
    """The object's own z axis is within 15 degrees of the vertical."""
    _, x, y, _ = state.bodies[object].quaternion.tolist()
    return bool(1.0 - 2.0 * (x * x + y * y) >= UPRIGHT_OBJECT)


@dataclass(frozen=True)
class Predicate:
    """A predicate that suites can name: its function and the names of its arguments."""

    function: Callable[..., bool]
    parameters: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The first line of what it says about itself."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]


def _predicate(function: Callable[..., bool]) -> Predicate:
    return Predicate(function, tuple(inspect.signature(function).parameters)[1:])


#: Every predicate a suite can use, by name.
PREDICATES: Mapping[str, Predicate] = {
    function.__name__: _predicate(function)
    for function in (in_container, in_box, released, at_rest, grasped, lifted, on_table, upright)
}

_ROBOT = frozenset(ROBOT_PARTS)


def _into_frame(rotation: tuple[float, float, float, float], point: Vec3, origin: Vec3) -> Vec3:
    # Written out: building a matrix with numpy takes longer than the whole predicate may.
    w, x, y, z = rotation
    dx, dy, dz = point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]
    return (
        (1 - 2 * (y * y + z * z)) * dx + 2 * (x * y + w * z) * dy + 2 * (x * z - w * y) * dz,
        2 * (x * y - w * z) * dx + (1 - 2 * (x * x + z * z)) * dy + 2 * (y * z + w * x) * dz,
        2 * (x * z + w * y) * dx + 2 * (y * z - w * x) * dy + (1 - 2 * (x * x + y * y)) * dz,
    )


def _carried_by(state: WorldState, object: str, container: str) -> bool:
    seen = {object}
    waiting = [object]
    while waiting:
        for other in state.touching(waiting.pop()):
            if other == container:
                return True
            if other in state.bodies and other not in seen and in_box(state, other, container):
                seen.add(other)
                waiting.append(other)
    return False
