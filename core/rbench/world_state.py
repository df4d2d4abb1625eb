"""What is true in the world at one moment: the value that goal predicates judge.

A `WorldState` is ground truth. It never reaches an agent that is not privileged. One is made at every control tick:
these are named tuples because a frozen dataclass takes three times as long to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rbench.geometry import Array, Vec3

#: Names of the robot's parts and of the fixed surroundings in `WorldState.contacts`.
LEFT_FINGER, RIGHT_FINGER, ROBOT = "left_finger", "right_finger", "robot"
TABLE, FLOOR = "table", "floor"
ROBOT_PARTS = (LEFT_FINGER, RIGHT_FINGER, ROBOT)


class BodyState(NamedTuple):
    """A free body: position (3,) m, quaternion (4,) wxyz, linear (3,) m/s and angular (3,) rad/s velocity.

    World frame; the body frame is that of `SceneObject` or `Receptacle`.
    """

    position: Array
    quaternion: Array
    linear_velocity: Array
    angular_velocity: Array


class RobotState(NamedTuple):
    """The robot: joint positions (7,) rad and velocities (7,) rad/s, fingertip pose, gripper.

    The end effector is the point between the fingertips, in the robot base frame: position (3,) m
    and quaternion (4,) wxyz (identity rotation of the hand: z points out of the gripper).
    `gripper` is 0 open .. 1 closed, measured.
    """

    joint_positions: Array
    joint_velocities: Array
    end_effector_position: Array
    end_effector_quaternion: Array
    gripper: float


class WorldState(NamedTuple):
    """One moment: simulated time (s), the robot, free bodies by name, and what touches what.

    `contacts` holds alphabetically sorted pairs of entity names: objects, receptacles, `table`, `floor`,
    `left_finger`, `right_finger`, `robot` (any other link). `cavities` gives the inner full
    extents (m) of each receptacle and `floors` the height of its cavity's floor in its own frame.
    """

    time: float
    robot: RobotState
    bodies: Mapping[str, BodyState]
    contacts: frozenset[tuple[str, str]]
    cavities: Mapping[str, Vec3]
    floors: Mapping[str, float]

    def touches(self, a: str, b: str) -> bool:
        """Whether two entities are in contact."""
        return ((a, b) if a < b else (b, a)) in self.contacts

    def touching(self, name: str) -> frozenset[str]:
        """Everything in contact with an entity."""
        return frozenset(b if a == name else a for a, b in self.contacts if name in (a, b))
