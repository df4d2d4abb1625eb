"""The MuJoCo world."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import Any, Literal

import mujoco
import numpy as np
import numpy.typing as npt

from rbench.action import JOINTS, JointPositions, JointVelocities, Waypoints
from rbench.errors import StaleObservation, UnstableSimulation, UsageError, did_you_mean
from rbench.geometry import Array, Pose
from rbench.interfaces.agent import RobotFacts
from rbench.interfaces.world import Tick
from rbench.observation import CameraRequest, CameraView, GroundTruth, Observation
from rbench.scene import SceneDescription, Setup
from rbench.simulation import panda
from rbench.simulation.cameras import intrinsics_of
from rbench.simulation.compile import PHYSICS_RATE
from rbench.simulation.control import CommandLimits, WaypointMotion, finger_width
from rbench.simulation.kinematics import ArmKinematics
from rbench.simulation.parameters import read_scene, write_parameters
from rbench.simulation.profiles import RenderProfile
from rbench.simulation.stage import Stage, Stages
from rbench.simulation.state import StateReader
from rbench.world_state import WorldState

#: Physics steps between two looks at whether a new scene has come to rest, and how many looks it gets (1.5 s).
SETTLE_STEPS, SETTLE_LOOKS = 24, 30
#: Speed (m/s, rad/s) below which everything counts as at rest after a reset.
REST_SPEED = 0.01
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION.value


def _one() -> int:
    return 1


class MujocoWorld:
    """A table-top world in MuJoCo; implements `rbench.interfaces.world.World`.

    Args:
        profile: how pictures are made.
        extrinsics: what agents are told about cameras: `true`, where they are, or `nominal`, where they were
            mounted (`Camera.reference`): the camera was bumped and nobody knows.
    """

    def __init__(self, profile: RenderProfile, *, extrinsics: Literal["true", "nominal"] = "true") -> None:
        self._profile = profile
        self._extrinsics = extrinsics
        self._stages = Stages(profile)
        self._arm = ArmKinematics()
        self._setup: Setup | None = None
        self._gl: dict[str, str] | None = None
        # Counts everything that changes the present moment; an image belongs to one count.
        self._moment = 0
        # MuJoCo would write its warnings to a file in the working directory; `StateReader.check` reads the counters.
        if mujoco.get_mju_user_warning() is None:
            mujoco.set_mju_user_warning(_ignore)

    @property
    def setup(self) -> Setup:
        self._present_stage()
        assert self._setup is not None
        return self._setup

    @property
    def robot(self) -> RobotFacts:
        robot = self.setup.scene.robot
        return RobotFacts(
            model=robot.model,
            lower=panda.LOWER,
            upper=panda.UPPER,
            max_velocity=panda.MAX_VELOCITY,
            max_opening=2 * panda.FINGER_TRAVEL,
            base=robot.pose,
        )

    @property
    def model(self) -> mujoco.MjModel:
        """MuJoCo's model of the present scene; it belongs to this world alone."""
        return self._present_stage().model

    @property
    def data(self) -> mujoco.MjData:
        """MuJoCo's state of the present scene."""
        return self._present_stage().data

    def reset(self, setup: Setup, *, control_rate: int, cameras: Mapping[str, CameraRequest]) -> None:
        check_control_rate(control_rate)
        _check_cameras(setup.scene, cameras)
        self._moment += 1
        self._setup = None
        self._stage = stage = self._stages.stage(setup.scene)
        mujoco.mj_resetData(stage.model, stage.data)
        write_parameters(stage.compiled, stage.data, setup.scene)
        robot = setup.scene.robot
        self._reader = StateReader(stage.compiled, stage.data, setup.scene)
        self._limits = CommandLimits(control_rate)
        self._steps_a_tick = PHYSICS_RATE // control_rate
        self._rest = np.array(robot.home)
        self._requests = dict(cameras)
        self._send(np.array([*robot.home, robot.gripper]))
        self._come_to_rest()
        self._ticks = 0
        self._setup = setup
        self._state = self._reader.read(0.0, self._reader.copy())

    def observe(self, *, privileged: bool = False) -> Observation:
        state = self.state()
        robot = state.robot
        truth = (
            GroundTruth(self.setup.scene, self._reader.read(state.time, self._reader.copy())) if privileged else None
        )
        return Observation(
            time=state.time,
            cameras={name: self._view(name, request) for name, request in self._requests.items()},
            joint_positions=robot.joint_positions.copy(),
            joint_velocities=robot.joint_velocities.copy(),
            gripper=robot.gripper,
            end_effector=_pose(robot.end_effector_position, robot.end_effector_quaternion),
            ground_truth=truth,
        )

    def state(self) -> WorldState:
        self._present_stage()
        return self._state

    def execute(
        self, action: JointPositions | JointVelocities | Waypoints, *, ahead: Callable[[], int] = _one
    ) -> Iterator[Tick]:
        self._present_stage()
        if isinstance(action, Waypoints):
            return self._follow(action, ahead)
        limited = self._limits.positions if isinstance(action, JointPositions) else self._limits.velocities
        return self._run(_chained(limited, action.rows, self._command), ahead)

    def settle(self, seconds: float, *, ahead: Callable[[], int] = _one) -> Iterator[Tick]:
        self._present_stage()
        return self._run(repeat((self._command, 0), round(seconds * self._limits.control_rate)), ahead)

    def replay(self, commands: Array) -> Iterator[Tick]:
        self._present_stage()
        return self._run(((command, 0) for command in np.array(commands, dtype=np.float64)), _one)

    def read_scene(self) -> SceneDescription:
        stage = self._present_stage()
        return read_scene(stage.compiled, stage.data, self.setup.scene)

    def masks(self, camera: str, height: int, width: int, alone: str | None = None) -> dict[str, npt.NDArray[np.bool_]]:
        """As in `World`; with `alone`, of that entity as if nothing else were there (inside the picture)."""
        masks = self._present_stage().masks(camera, height, width, alone)
        self._gl = self._stage.gl_info()
        return masks

    def depth(self, camera: str, height: int, width: int) -> npt.NDArray[np.float32]:
        """Distance (m) along the optical axis (height, width), infinite where nothing was drawn."""
        return self._present_stage().draw("depth", camera, height, width)

    def nearness(self, camera: str, height: int, width: int) -> npt.NDArray[np.float32]:
        """The same, but of surfaces seen from behind too: what a camera inside of something is inside of."""
        return self._present_stage().nearness(camera, height, width)

    def render(self, camera: str, height: int, width: int) -> npt.NDArray[np.uint8]:
        image = self._present_stage().draw("rgb", camera, height, width)
        self._gl = self._stage.gl_info()
        return image

    def fingerprint(self) -> str:
        stage = self._present_stage()
        values = np.empty(mujoco.mj_stateSize(stage.model, _STATE))
        mujoco.mj_getState(stage.model, stage.data, values, _STATE)
        return hashlib.sha256(values.tobytes()).hexdigest()

    def provenance(self) -> dict[str, Any]:
        return {
            "simulator": "mujoco",
            "version": mujoco.__version__,
            "physics_rate": PHYSICS_RATE,
            "render": self._profile.name,
            "extrinsics": self._extrinsics,
            "gl": self._gl,
        }

    def close(self) -> None:
        self._stages.close()
        self._setup = None
        self._moment += 1

    def _follow(self, action: Waypoints, ahead: Callable[[], int]) -> Iterator[Tick]:
        for goal in action.goals:
            motion = WaypointMotion(goal, self._command, self._rest, self._arm, self._limits)
            clipped, verdict = motion.clipped, "moving"
            while verdict == "moving":
                # Up to the end of its line it cannot have arrived, whatever the physics does.
                commands = motion.commands(min(ahead(), max(1, motion.left)), self._command)
                for command, state in zip(commands, self._stride(commands), strict=True):
                    verdict = motion.verdict(state.robot)
                    yield Tick(command, state, clipped, ("unreachable",) if verdict == "unreachable" else ())
                    clipped = 0

    def _run(self, commands: Iterator[tuple[Array, int]], ahead: Callable[[], int]) -> Iterator[Tick]:
        """Execute commands that depend on nothing that happens; with each, how many of its numbers were clipped."""
        while stride := list(islice(commands, ahead())):
            states = self._stride([command for command, _ in stride])
            for (command, clipped), state in zip(stride, states, strict=True):
                yield Tick(command, state, clipped)

    def _stride(self, commands: Sequence[Array]) -> Iterator[WorldState]:
        """The physics of some ticks, and then the state after each."""
        stage, reader, moments = self._stage, self._reader, []
        problem: UnstableSimulation | None = None
        for command in commands:
            self._send(command)
            mujoco.mj_step(stage.model, stage.data, self._steps_a_tick)
            try:
                reader.check()
            except UnstableSimulation as diverged:
                problem = diverged
                break
            moments.append(reader.copy())
        # From the count of ticks, so that no rounding adds up.
        done, rate = self._ticks, self._limits.control_rate
        states = [reader.read((done + number) / rate, moment) for number, moment in enumerate(moments, 1)]
        if states:
            self._state = states[-1]
            self._ticks += len(states)
            self._moment += 1
            yield from states
        if problem is not None:
            self._setup = None
            raise problem

    def _send(self, command: Array) -> None:
        self._command = command
        ctrl = self._stage.data.ctrl
        ctrl[:JOINTS] = command[:JOINTS]
        ctrl[JOINTS] = finger_width(command[JOINTS])

    def _come_to_rest(self) -> None:
        data = self._stage.data
        for _ in range(SETTLE_LOOKS):
            mujoco.mj_step(self._stage.model, data, SETTLE_STEPS)
            self._reader.check()
            if float(np.abs(data.qvel).max()) < REST_SPEED:
                data.time = 0.0
                return
        raise UnstableSimulation(
            f"the scene does not come to rest within {SETTLE_LOOKS * SETTLE_STEPS / PHYSICS_RATE:.1f} s after its"
            " reset; place its bodies on the table so that they neither overlap nor fall"
        )

    def _view(self, name: str, request: CameraRequest) -> CameraView:
        scene, stage, moment = self.setup.scene, self._stage, self._moment
        camera = scene.camera(name)

        def present(read: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
            if self._moment != moment:
                raise StaleObservation(
                    f"camera {name!r}: the world moved on before this observation was first read; read what you need"
                    " of an observation before you return an action"
                )
            result = read()
            self._gl = stage.gl_info() or self._gl
            return result

        nominal = self._extrinsics == "nominal"
        return CameraView(
            name,
            request,
            intrinsics_of(camera, request.height, request.width),
            lambda: present(lambda: stage.camera_to_base(camera, scene.robot.pose, nominal=nominal)),
            lambda channel: present(lambda: stage.draw(channel, name, request.height, request.width)),
        )

    def _present_stage(self) -> Stage:
        if self._setup is None:
            raise UsageError("the world holds no running scene; call reset(setup, ...) first")
        return self._stage


def _chained(
    limited: Callable[[Array, Array], tuple[Array, int]], rows: Array, last: Array
) -> Iterator[tuple[Array, int]]:
    """The command for each row, counted from the one before."""
    for row in rows:
        last, clipped = limited(row, last)
        yield last, clipped


def _pose(position: Array, orientation: Array) -> Pose:
    """A pose of plain floats; MuJoCo's quaternions are unit, of either sign."""
    x, y, z = position.tolist()
    a, b, c, d = orientation.tolist()
    return Pose((x, y, z), (a, b, c, d) if a >= 0 else (-a, -b, -c, -d))


def check_control_rate(rate: int) -> None:
    """Refuse a control rate (Hz) that does not divide the physics rate.

    Raises:
        UsageError: names the nearest rate that does.
    """
    if rate < 1 or PHYSICS_RATE % rate:
        rates = [n for n in range(1, PHYSICS_RATE + 1) if PHYSICS_RATE % n == 0]
        nearest = min(rates, key=lambda n: (abs(n - rate), n))
        raise UsageError(
            f"control rate {rate} Hz does not divide the physics rate of {PHYSICS_RATE} Hz; the nearest that does is"
            f" {nearest} Hz: set `control_rate={nearest}` in the agent's manifest"
        )


def _check_cameras(scene: SceneDescription, cameras: Mapping[str, CameraRequest]) -> None:
    names = [camera.name for camera in scene.cameras]
    for name in cameras:
        if name not in names:
            raise UsageError(
                f"scene {scene.name!r} has no camera {name!r}.{did_you_mean(name, names)} Name a camera of the scene in"
                " the agent's manifest."
            )


def _ignore(message: str) -> None:
    """MuJoCo's own report of a warning that is already counted."""
