"""A world without physics and without a graphics library: fast, exact, and the same everywhere.

The arm is where it was told to be, the object is held when the fingers close on it and falls straight down when they
open. It is for checks and for tests of plugins, never for results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from math import ceil, hypot, radians
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.action import JOINTS, JointPositions, JointVelocities, Waypoint, Waypoints
from rbench.errors import StaleObservation, UsageError
from rbench.geometry import Array, Pose, matrix_quaternion, quaternion, quaternion_distance, vec3
from rbench.interfaces.agent import RobotFacts
from rbench.interfaces.world import Tick
from rbench.observation import CameraRequest, CameraView, Channel, GroundTruth, Observation
from rbench.scene import Camera, SceneDescription, SceneObject, Setup
from rbench.simulation import panda
from rbench.simulation.cameras import intrinsics_of, opencv_extrinsics
from rbench.simulation.control import CommandLimits
from rbench.simulation.kinematics import ArmKinematics
from rbench.testing.pictures import Picture, boxes_of, draw, pose_matrix
from rbench.world_state import LEFT_FINGER, RIGHT_FINGER, TABLE, BodyState, RobotState, WorldState

#: A grasp holds when the hand is tilted and turned from the object's faces by less than this (cosine; rad), and the
#: middle of the pads is at most this far (m) beside the object's middle or above its top.
UPRIGHT, SQUARE, BESIDE, ABOVE = 0.9, radians(26.0), 0.018, 0.004
#: The fingers let go when they are told to open by this much (0..1) from where they hold.
LET_GO = 0.03
#: Seconds that a waypoint lasts beyond distance / speed: the gripper moves then.
GRIPPER_TIME = 0.2
#: The solver of the arm stops after a few iterations, for it expects to be called at every tick: calls a waypoint, and
#: the residual (m, rad) at which they end. A solution this far (m) from a waypoint counts as unreachable.
SOLVES, EXACT, MISSED = 12, 1e-3, 0.01
Altered = Callable[[Channel, npt.NDArray[Any]], npt.NDArray[Any]]


class FakeWorld:
    """Implements `rbench.interfaces.world.World`.

    Attributes:
        alter: what happens to every picture before an agent gets it: (channel, image) -> image. Black frames, noise.
    """

    def __init__(self, alter: Altered = lambda channel, image: image) -> None:
        self.alter = alter
        self._arm = ArmKinematics()
        self._setup: Setup | None = None
        self._moment = 0
        self._drawn: dict[Any, Picture] = {}

    @property
    def setup(self) -> Setup:
        if self._setup is None:
            raise UsageError("the world holds no running scene; call reset(setup, ...) first")
        return self._setup

    @property
    def robot(self) -> RobotFacts:
        return RobotFacts(
            model=self.setup.scene.robot.model,
            lower=panda.LOWER,
            upper=panda.UPPER,
            max_velocity=panda.MAX_VELOCITY,
            max_opening=2 * panda.FINGER_TRAVEL,
            base=self.setup.scene.robot.pose,
        )

    def reset(self, setup: Setup, *, control_rate: int, cameras: Mapping[str, CameraRequest]) -> None:
        for name in cameras:
            setup.scene.camera(name)
        self._setup = setup
        self._requests = dict(cameras)
        self._limits = CommandLimits(control_rate)
        robot = setup.scene.robot
        self._base = robot.pose.matrix()
        self._command = np.array([*robot.home, robot.gripper])
        self._rest = np.array(robot.home)
        self._speed = np.zeros(JOINTS)
        self._ticks = 0
        self._moment += 1
        self._drawn.clear()
        self._poses: dict[str, Array] = {}
        self._bodies: dict[str, BodyState] = {}
        for item in setup.scene.objects:
            self._place(item.name, item.pose.matrix())
        for receptacle in setup.scene.receptacles:
            self._place(receptacle.name, receptacle.pose.matrix())
        self._held: tuple[SceneObject, Array, float] | None = None
        self._supports = {item.name: TABLE for item in setup.scene.objects}

    def observe(self, *, privileged: bool = False) -> Observation:
        state = self.state()
        robot = state.robot
        return Observation(
            time=state.time,
            cameras={name: self._view(name, request) for name, request in self._requests.items()},
            joint_positions=robot.joint_positions,
            joint_velocities=robot.joint_velocities,
            gripper=robot.gripper,
            end_effector=Pose(vec3(robot.end_effector_position), quaternion(robot.end_effector_quaternion)),
            ground_truth=GroundTruth(self.setup.scene, state) if privileged else None,
        )

    def state(self) -> WorldState:
        scene = self.setup.scene
        tip = self._arm.fingertip(self._command[:JOINTS])
        contacts = {_pair(name, support) for name, support in self._supports.items()}
        gripper = float(self._command[JOINTS])
        if self._held is not None:
            item, _, gripper = self._held
            contacts = {pair for pair in contacts if item.name not in pair}
            contacts |= {_pair(item.name, LEFT_FINGER), _pair(item.name, RIGHT_FINGER)}
        contacts |= {_pair(receptacle.name, TABLE) for receptacle in scene.receptacles}
        return WorldState(
            time=self._ticks / self._limits.control_rate,
            robot=RobotState(
                joint_positions=self._command[:JOINTS].copy(),
                joint_velocities=self._speed.copy(),
                end_effector_position=tip.position,
                end_effector_quaternion=tip.quaternion,
                gripper=gripper,
            ),
            bodies=dict(self._bodies),
            contacts=frozenset(contacts),
            cavities={r.name: r.inner for r in scene.receptacles},
            floors={r.name: r.wall for r in scene.receptacles},
        )

    def execute(
        self, action: JointPositions | JointVelocities | Waypoints, *, ahead: Callable[[], int] = lambda: 1
    ) -> Iterator[Tick]:
        if isinstance(action, Waypoints):
            for goal in action.goals:
                yield from self._go(goal)
            return
        command_for = self._limits.positions if isinstance(action, JointPositions) else self._limits.velocities
        for row in action.rows:
            command, clipped = command_for(row, self._command)
            yield self._tick(command, clipped)

    def settle(self, seconds: float, *, ahead: Callable[[], int] = lambda: 1) -> Iterator[Tick]:
        for _ in range(round(seconds * self._limits.control_rate)):
            yield self._tick(self._command)

    def replay(self, commands: Array) -> Iterator[Tick]:
        for command in np.array(commands, dtype=np.float64):
            yield self._tick(command)

    def read_scene(self) -> SceneDescription:
        return self.setup.scene

    def masks(self, camera: str, height: int, width: int) -> dict[str, npt.NDArray[np.bool_]]:
        picture = self._picture(camera, height, width)
        return {name: picture.entity == number for number, name in enumerate(picture.entities)}

    def render(self, camera: str, height: int, width: int) -> npt.NDArray[np.uint8]:
        return self._picture(camera, height, width).rgb.copy()

    def fingerprint(self) -> str:
        digest = hashlib.sha256(self._command.tobytes())
        for name, pose in self._poses.items():
            digest.update(name.encode() + pose.tobytes())
        return digest.hexdigest()

    def provenance(self) -> dict[str, Any]:
        return {"simulator": "fake", "version": "1", "render": "ray casting", "gl": None}

    def close(self) -> None:
        self._setup = None
        self._moment += 1

    def _go(self, goal: Waypoint) -> Iterator[Tick]:
        start = self._command
        joints = start[:JOINTS]
        for _ in range(SOLVES):
            joints = self._arm.solve(goal.position, goal.quaternion, joints, self._rest)
            tip = self._arm.fingertip(joints)
            if (
                np.linalg.norm(tip.position - goal.position) < EXACT
                and quaternion_distance(tip.quaternion, goal.quaternion) < EXACT
            ):
                break
        way = np.linalg.norm(np.asarray(goal.position) - self._arm.fingertip(start[:JOINTS]).position)
        missed = float(np.linalg.norm(self._arm.fingertip(joints).position - goal.position)) > MISSED
        ticks = max(1, ceil(float(way) / goal.speed * self._limits.control_rate))
        for number in range(1, ticks + 1):
            yield self._tick(np.append(start[:JOINTS] + (joints - start[:JOINTS]) * number / ticks, start[JOINTS]))
        gripper = min(max(goal.gripper, 0.0), 1.0)
        for number in range(ceil(GRIPPER_TIME * self._limits.control_rate)):
            first = number == 0
            clipped = int(first and gripper != goal.gripper)
            yield self._tick(np.append(joints, gripper), clipped, ("unreachable",) if missed and first else ())

    def _tick(self, command: Array, clipped: int = 0, events: tuple[str, ...] = ()) -> Tick:
        before = self._command
        self._speed = (command - before)[:JOINTS] * self._limits.control_rate
        self._command = command
        self._ticks += 1
        self._moment += 1
        hand = self._hand()
        if self._held is not None:
            item, in_hand, gripper = self._held
            self._place(item.name, hand @ in_hand)
            if command[JOINTS] < gripper - LET_GO:
                self._held = None
                self._drop(item)
        elif command[JOINTS] > before[JOINTS]:
            self._grasp(hand, float(before[JOINTS]), float(command[JOINTS]))
        return Tick(command, self.state(), clipped, events)

    def _place(self, name: str, pose: Array) -> None:
        self._poses[name] = pose
        turn = np.array(matrix_quaternion(pose[:3, :3]))
        self._bodies[name] = BodyState(pose[:3, 3].copy(), turn, np.zeros(3), np.zeros(3))

    def _hand(self) -> Array:
        """The fingertip frame (4, 4) in the world: x to the front of the hand, y along the fingers, z out of it."""
        tip = self._arm.fingertip(self._command[:JOINTS])
        return np.asarray(self._base @ pose_matrix(tip.position, tip.quaternion))

    def _grasp(self, hand: Array, opening: float, closing: float) -> None:
        if hand[2, 2] > -UPRIGHT:
            return
        for item in self.setup.scene.objects:
            pose = self._poses[item.name]
            x, y, z = pose[:3, :3].T @ (hand[:3, 3] - pose[:3, 3])
            inside = hypot(x, y) < BESIDE and -item.size[2] / 2 < z < item.size[2] / 2 + ABOVE
            along = pose[:3, :3].T @ hand[:3, 1]
            axis = int(abs(along[1]) > abs(along[0]))
            turned = np.arccos(min(1.0, abs(float(along[axis]))))
            hold = 1.0 - item.size[axis] / (2 * panda.FINGER_TRAVEL)
            if inside and (turned < SQUARE or item.shape == "cylinder") and opening <= hold <= closing:
                self._held = (item, np.linalg.inv(hand) @ pose, hold)
                return

    def _drop(self, item: SceneObject) -> None:
        """Straight down: into the receptacle below, or onto the table."""
        pose = self._poses[item.name].copy()
        support, height = TABLE, self.setup.scene.table.center[2]
        for receptacle in self.setup.scene.receptacles:
            place = self._poses[receptacle.name]
            x, y, _ = place[:3, :3].T @ (pose[:3, 3] - place[:3, 3])
            if abs(x) < (receptacle.inner[0] - item.size[0]) / 2 and abs(y) < (receptacle.inner[1] - item.size[1]) / 2:
                support, height = receptacle.name, float(place[2, 3]) + receptacle.wall
        pose[2, 3] = height + item.size[2] / 2
        self._place(item.name, pose)
        self._supports[item.name] = support

    def _view(self, name: str, request: CameraRequest) -> CameraView:
        camera, moment = self.setup.scene.camera(name), self._moment

        def present(channel: Channel) -> npt.NDArray[Any]:
            if self._moment != moment:
                raise StaleObservation(
                    f"camera {name!r}: the world moved on before this observation was first read; read what you need"
                    " of an observation before you return an action"
                )
            picture = self._picture(name, request.height, request.width)
            image: npt.NDArray[Any] = picture.rgb if channel == "rgb" else picture.depth
            return np.ascontiguousarray(self.alter(channel, image.copy()))

        return CameraView(
            name,
            request,
            intrinsics_of(camera, request.height, request.width),
            lambda: opencv_extrinsics(self._camera_pose(camera), self.setup.scene.robot.pose),
            present,
        )

    def _camera_pose(self, camera: Camera) -> Array:
        pose = camera.pose.matrix()
        if camera.mount == "world":
            return pose
        flange = np.eye(4)
        flange[:3, 3] = -np.asarray(panda.FINGERTIP)
        return np.asarray(self._hand() @ flange @ pose)

    def _picture(self, name: str, height: int, width: int) -> Picture:
        scene = self.setup.scene
        pose = self._camera_pose(scene.camera(name))
        key = (name, height, width, pose.tobytes(), *(p.tobytes() for p in self._poses.values()))
        if key not in self._drawn:
            self._drawn.clear()  # all but the present moment is of no use any more
            intrinsics = intrinsics_of(scene.camera(name), height, width)
            boxes = boxes_of(scene, self._poses)
            self._drawn[key] = draw(boxes, pose, intrinsics, height, width, scene.background.color)
        return self._drawn[key]


def _pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)
