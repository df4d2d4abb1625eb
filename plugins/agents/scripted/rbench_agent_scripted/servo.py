"""The agent `servo`: an expert that decides anew at every tick from the true state.

`expert` plans waypoints and follows them; what it would do elsewhere is not known. `servo` has an answer for every
state, so it can say what should be done also where execution noise has brought the arm: demonstrations with noisy
motion and clean labels, from which a policy learns to come back. (DART: Laskey et al. 2017.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.action import JOINTS, JointPositions
from rbench.errors import AgentError
from rbench.geometry import Array
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.observation import GroundTruth, Observation
from rbench.simulation.kinematics import ArmKinematics
from rbench_agent_scripted.execution_noise import ExecutionNoise
from rbench_agent_scripted.grasps import pointing_down
from rbench_agent_scripted.situation import Goal, Situation, goal_in

#: Time (s) by which the arm follows its targets: a target ahead by speed x LAG makes it move at that speed.
LAG = 0.1
#: Speed (rad/s) at which the hand turns.
TURN_SPEED = 1.5
#: Share of the speed near the object and over the box.
CAREFUL = 0.5


class ServoOptions(BaseModel):
    """Options of `servo`.

    Attributes:
        noise: strength of the execution noise; 0: none, 1: as documented.
        speed: of the fingertips on free ways, m/s; half of it near the object.
        object: the object to move; by default the scene's first.
        container: the receptacle to put it into; by default the scene's first.
        control_rate: Hz; must divide 480.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    noise: float = Field(default=0.0, ge=0.0, le=5.0)
    speed: float = Field(default=0.4, gt=0.0, le=1.0)
    object: str | None = None
    container: str | None = None
    control_rate: int = Field(default=15, ge=5, le=480)


class Servo(Agent):
    """Moves the object into the receptacle, one joint target a tick, each a function of the state alone.

    With noise it does something else than it decided; its report then holds what it decided, one row a tick, under
    `labels`.
    """

    def __init__(self, options: ServoOptions, context: AgentContext) -> None:
        self._options = options
        self._arm = ArmKinematics()

    @property
    def manifest(self) -> AgentManifest:
        return AgentManifest(actions=("joint_positions",), privileged=True, control_rate=self._options.control_rate)

    def reset(self, start: EpisodeStart) -> None:
        self._robot = start.robot
        self._rest = np.clip(start.observation.joint_positions, start.robot.lower, start.robot.upper)
        self._noise = ExecutionNoise(self._options.noise, start.control_rate, start.rng)
        self._labels: list[list[float]] = []
        self._gripper = start.observation.gripper

    def act(self, observation: Observation) -> JointPositions:
        situation = self._situation(observation.ground_truth)
        if situation.grasp.width > self._robot.max_opening:
            raise AgentError(
                f"agent 'servo': object {situation.item.name!r} is {situation.grasp.width:.3f} m wide and the gripper"
                f" opens {self._robot.max_opening:.3f} m; give the scene a smaller object"
            )
        goal = goal_in(situation)
        label = self._command(observation.joint_positions, situation, goal)
        row = self._limited(label + self._noise.offsets(goal.careful))
        self._labels.append([round(number, 9) for number in label.tolist()])
        self._gripper = observation.gripper
        return JointPositions(row[None])

    def report(self) -> Mapping[str, Any]:
        return {"labels": self._labels} if self._options.noise else {}

    def _situation(self, truth: GroundTruth) -> Situation:
        scene, options = truth.scene, self._options
        item = scene.object(options.object) if options.object else scene.objects[0]
        box = scene.receptacle(options.container) if options.container else scene.receptacles[0]
        return Situation.of(truth.state, item, box, self._robot, self._gripper)

    def _command(self, joints: Array, situation: Situation, goal: Goal) -> Array:
        """The joint targets (7,) and the gripper that bring the fingertips nearer to a goal."""
        speed = self._options.speed * (CAREFUL if goal.careful else 1.0)
        way = goal.position - situation.tip
        position = situation.tip + way * min(1.0, speed * LAG / max(float(np.linalg.norm(way)), 1e-9))
        turn = goal.angle - situation.angle
        angle = situation.angle + float(np.clip(turn, -TURN_SPEED * LAG, TURN_SPEED * LAG))
        target = self._arm.solve(position, pointing_down(angle), joints, self._rest)
        return self._limited(np.append(target, goal.gripper))

    def _limited(self, row: Array) -> Array:
        lower, upper = (*self._robot.lower, 0.0), (*self._robot.upper, 1.0)
        return np.asarray(np.clip(row[: JOINTS + 1], lower, upper))
