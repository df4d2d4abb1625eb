"""The MuJoCo world."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import mujoco
import numpy as np
import numpy.typing as npt

from rbench.action import JOINTS, JointPositions, JointVelocities, Waypoints
from rbench.errors import StaleObservation, UnstableSimulation, UsageError, did_you_mean
from rbench.geometry import Array, Pose, quaternion, vec3
from rbench.interfaces.agent import RobotFacts
from rbench.interfaces.world import Tick
from rbench.observation import CameraRequest, CameraView, Channel, GroundTruth, Observation
from rbench.scene import Camera, SceneDescription, Setup
from rbench.simulation import panda
from rbench.simulation.cameras import extrinsics, intrinsics_of, opencv_extrinsics
from rbench.simulation.compile import KEPT_MODELS, PHYSICS_RATE, CompiledScene, compile_scene, structure_of
from rbench.simulation.control import CommandLimits, WaypointMotion, finger_width
from rbench.simulation.kinematics import ArmKinematics
from rbench.simulation.parameters import read_scene, write_parameters
from rbench.simulation.profiles import RenderProfile
from rbench.simulation.rendering import Renderer
from rbench.simulation.state import StateReader
from rbench.world_state import WorldState

#: Physics steps between two looks at whether a new scene has come to rest, and how many looks it gets (1.5 s).
SETTLE_STEPS, SETTLE_LOOKS = 24, 30
#: Speed (m/s, rad/s) below which everything counts as at rest after a reset.
REST_SPEED = 0.01
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


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
        self._stages: OrderedDict[SceneDescription, _Stage] = OrderedDict()
        self._arm = ArmKinematics()
        self._setup: Setup | None = None
        self._revision = 0
        self._drawn_with: dict[str, str] = {}
        # MuJoCo would write its warnings to a file in the working directory; `StateReader.check` reads the counters.
        if mujoco.get_mju_user_warning() is None:
            mujoco.set_mju_user_warning(_ignore)

    @property
    def setup(self) -> Setup:
        return self._built

    @property
    def robot(self) -> RobotFacts:
        return RobotFacts(
            model=self._built.scene.robot.model,
            lower=panda.LOWER,
            upper=panda.UPPER,
            max_velocity=panda.MAX_VELOCITY,
            max_opening=2 * panda.FINGER_TRAVEL,
            base=self._built.scene.robot.pose,
        )

    @property
    def model(self) -> mujoco.MjModel:
        """MuJoCo's model of the present scene, owned by this world."""
        return self._stage.compiled.model

    @property
    def data(self) -> mujoco.MjData:
        """MuJoCo's state of the present scene."""
        return self._stage.data

    def reset(self, setup: Setup, *, control_rate: int, cameras: Mapping[str, CameraRequest]) -> None:
        _check_control_rate(control_rate)
        _check_cameras(setup.scene, cameras)
        self._revision += 1
        self._setup = None
        stage = self._stage_for(setup.scene)
        compiled, data = stage.compiled, stage.data
        mujoco.mj_resetData(compiled.model, data)
        write_parameters(compiled, data, setup.scene)
        self._reader = StateReader(compiled, data, setup.scene)
        self._limits = CommandLimits(control_rate)
        self._substeps = PHYSICS_RATE // control_rate
        self._rest = np.array(setup.scene.robot.home)
        self._requests = dict(cameras)
        self._command = np.array([*setup.scene.robot.home, setup.scene.robot.gripper])
        self._stage = stage
        self._bring_to_rest()
        self._ticks = 0
        self._setup = setup
        self._state = self._reader.read(0.0)

    def observe(self, *, privileged: bool = False) -> Observation:
        robot = self.state().robot
        truth = GroundTruth(self.setup.scene, self._state) if privileged else None
        return Observation(
            time=self._state.time,
            cameras={name: self._view(name, request) for name, request in self._requests.items()},
            joint_positions=robot.joint_positions,
            joint_velocities=robot.joint_velocities,
            gripper=robot.gripper,
            end_effector=Pose(vec3(robot.end_effector_position), quaternion(robot.end_effector_quaternion)),
            ground_truth=truth,
        )

    def state(self) -> WorldState:
        self._check_built()
        return self._state

    def execute(self, action: JointPositions | JointVelocities | Waypoints) -> Iterator[Tick]:
        self._check_built()
        if isinstance(action, Waypoints):
            yield from self._follow(action)
            return
        convert = self._limits.positions if isinstance(action, JointPositions) else self._limits.velocities
        for row in action.rows:
            command, clipped = convert(row, self._command)
            yield self._tick(command, clipped)

    def settle(self, seconds: float) -> Iterator[Tick]:
        self._check_built()
        for _ in range(round(seconds * self._limits.control_rate)):
            yield self._tick(self._command)

    def replay(self, commands: Array) -> Iterator[Tick]:
        self._check_built()
        for command in np.asarray(commands, dtype=np.float64):
            yield self._tick(command)

    def read_scene(self) -> SceneDescription:
        return read_scene(self._stage.compiled, self._stage.data, self.setup.scene)

    def masks(self, camera: str, height: int, width: int) -> dict[str, npt.NDArray[np.bool_]]:
        geoms = self._renderer().segmentation(self._stage.data, camera, height, width)
        names = self._stage.compiled.entity_of_geom
        masks = {name: np.zeros(geoms.shape, dtype=np.bool_) for name in names}
        for geom in np.unique(geoms):
            if geom >= 0:
                masks[names[geom]] |= geoms == geom
        return masks

    def render(self, camera: str, height: int, width: int) -> npt.NDArray[np.uint8]:
        return self._renderer().rgb(self._stage.data, camera, height, width)

    def fingerprint(self) -> str:
        self._check_built()
        values = np.empty(mujoco.mj_stateSize(self.model, _STATE.value))
        mujoco.mj_getState(self.model, self.data, values, _STATE.value)
        return hashlib.sha256(values.tobytes()).hexdigest()

    def provenance(self) -> dict[str, Any]:
        return {
            "simulator": "mujoco",
            "version": mujoco.__version__,
            "physics_rate": PHYSICS_RATE,
            "render": self._profile.name,
            "extrinsics": self._extrinsics,
            "gl": dict(self._drawn_with) or None,
        }

    def close(self) -> None:
        for stage in self._stages.values():
            stage.close()
        self._stages.clear()
        self._setup = None
        self._revision += 1

    def _follow(self, action: Waypoints) -> Iterator[Tick]:
        for goal in action.goals:
            motion = WaypointMotion(goal, self._command, self._rest, self._arm, self._limits)
            clipped, verdict = motion.clipped, "moving"
            while verdict == "moving":
                tick = self._tick(motion.command(self._command), clipped)
                verdict = motion.verdict(tick.state.robot)
                if verdict == "unreachable":
                    tick = Tick(tick.command, tick.state, tick.clipped, ("unreachable",))
                yield tick
                clipped = 0

    def _tick(self, command: Array, clipped: int = 0) -> Tick:
        self._revision += 1
        self._command = command
        self._ticks += 1
        data = self._stage.data
        data.ctrl[:JOINTS] = command[:JOINTS]
        data.ctrl[JOINTS] = finger_width(command[JOINTS])
        self._advance(self._substeps)
        # From the count of ticks, so that no rounding adds up.
        self._state = self._reader.read(self._ticks / self._limits.control_rate)
        return Tick(command, self._state, clipped)

    def _advance(self, steps: int) -> None:
        model, data = self._stage.compiled.model, self._stage.data
        mujoco.mj_step(model, data, steps)
        # A step ends with new joint positions; poses of bodies, cameras and sites follow here.
        mujoco.mj_kinematics(model, data)
        try:
            self._reader.check()
        except UnstableSimulation:
            self._setup = None
            raise

    def _bring_to_rest(self) -> None:
        data = self._stage.data
        data.ctrl[:JOINTS] = self._command[:JOINTS]
        data.ctrl[JOINTS] = finger_width(self._command[JOINTS])
        for _ in range(SETTLE_LOOKS):
            self._advance(SETTLE_STEPS)
            if float(np.abs(data.qvel).max()) < REST_SPEED:
                data.time = 0.0
                return
        raise UnstableSimulation(
            f"the scene does not come to rest within {SETTLE_LOOKS * SETTLE_STEPS / PHYSICS_RATE:.1f} s after its"
            " reset; place its bodies on the table so that they neither overlap nor fall"
        )

    def _stage_for(self, scene: SceneDescription) -> _Stage:
        structure = structure_of(scene)
        if structure not in self._stages:
            self._stages[structure] = _Stage(compile_scene(scene, self._profile))
        self._stages.move_to_end(structure)
        while len(self._stages) > KEPT_MODELS:
            self._stages.popitem(last=False)[1].close()
        return self._stages[structure]

    def _renderer(self) -> Renderer:
        self._check_built()
        stage = self._stage
        if stage.renderer is None:
            stage.renderer = Renderer(stage.compiled.model, self._profile)
        mujoco.mj_camlight(stage.compiled.model, stage.data)
        return stage.renderer

    def _view(self, name: str, request: CameraRequest) -> CameraView:
        camera = self.setup.scene.camera(name)
        intrinsics = intrinsics_of(camera, request.height, request.width)
        revision = self._revision

        def current(read: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
            if self._revision != revision:
                raise StaleObservation(
                    f"camera {name!r}: the world moved on before this observation was first read;"
                    " read what you need of an observation before you return an action"
                )
            return read()

        def render(channel: Channel) -> npt.NDArray[Any]:
            renderer = self._renderer()
            draw = renderer.rgb if channel == "rgb" else renderer.depth
            image = draw(self._stage.data, name, request.height, request.width)
            self._drawn_with = renderer.info()
            return image

        return CameraView(
            name,
            request,
            intrinsics,
            lambda: current(lambda: self._told_pose(camera)),
            lambda c: current(lambda: render(c)),
        )

    def _told_pose(self, camera: Camera) -> Array:
        """Camera-to-base transform as agents are told it."""
        stage, base = self._stage, self.setup.scene.robot.pose
        if self._extrinsics == "nominal" and camera.reference is not None:
            pose = camera.reference.matrix()
            if camera.mount == "hand":
                hand = Pose(
                    vec3(stage.data.xpos[stage.compiled.hand]), quaternion(stage.data.xquat[stage.compiled.hand])
                )
                pose = hand.matrix() @ pose
            return opencv_extrinsics(pose, base)
        mujoco.mj_camlight(stage.compiled.model, stage.data)
        return extrinsics(stage.compiled.model, stage.data, camera.name, base)

    @property
    def _built(self) -> Setup:
        self._check_built()
        assert self._setup is not None
        return self._setup

    def _check_built(self) -> None:
        if self._setup is None:
            raise UsageError("the world holds no running scene; call reset(setup, ...) first")


class _Stage:
    """A compiled scene with its state and, once something was drawn, its renderer."""

    def __init__(self, compiled: CompiledScene) -> None:
        self.compiled = compiled
        self.data = mujoco.MjData(compiled.model)
        self.renderer: Renderer | None = None

    def close(self) -> None:
        if self.renderer is not None:
            self.renderer.close()
            self.renderer = None


def _check_control_rate(rate: int) -> None:
    rates = [n for n in range(1, PHYSICS_RATE + 1) if PHYSICS_RATE % n == 0]
    if rate not in rates:
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
