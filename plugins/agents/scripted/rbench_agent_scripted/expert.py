"""The agent `expert`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.action import Stop, Waypoint, Waypoints
from rbench.errors import AgentError
from rbench.geometry import Array, rotation_matrix, vec3
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.observation import GroundTruth, Observation
from rbench.scene import Receptacle, SceneObject
from rbench.world_state import LEFT_FINGER, RIGHT_FINGER
from rbench_agent_scripted.grasps import best_grasp, pointing_down

#: Air (m): between the fingertips and the object on the way in, between a carried object and the rim of the box, and
#: between the object and the bottom of the box when it is let go.
APPROACH, CARRY, DROP = 0.05, 0.03, 0.02
#: How far (m) the fingers open beyond the object's width when they let go: their backs must not touch the walls.
RELEASE = 0.012
#: Way up (m) after letting go, and share of the speed for motions near the object.
RETREAT, CAREFUL = 0.12, 0.5
#: Grasps tried in all.
ATTEMPTS = 2


class ExpertOptions(BaseModel):
    """Options of `expert`.

    Attributes:
        speed: of the fingertips on free ways, m/s; half of it near the object.
        object: the object to move; by default the scene's first.
        container: the receptacle to put it into; by default the scene's first.
        control_rate: Hz; must divide 480.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    speed: float = Field(default=0.4, gt=0.0, le=1.0)
    object: str | None = None
    container: str | None = None
    control_rate: int = Field(default=20, ge=1, le=480)


class Expert(Agent):
    """Picks the object up from above and lets it go inside the receptacle, by ground truth and waypoints."""

    def __init__(self, options: ExpertOptions, context: AgentContext) -> None:
        self._options = options
        self._phase = "pick"
        self._attempts = 0

    @property
    def manifest(self) -> AgentManifest:
        return AgentManifest(actions=("waypoints",), privileged=True, control_rate=self._options.control_rate)

    def reset(self, start: EpisodeStart) -> None:
        self._base = start.robot.base
        self._max_opening = start.robot.max_opening
        self._phase, self._attempts = "pick", 0

    def act(self, observation: Observation) -> Waypoints | Stop:
        truth = observation.ground_truth
        if self._phase == "place":
            if _held(truth, self._target(truth).name):
                self._phase = "done"
                return self._place(truth, observation)
            self._phase = "pick"
        if self._phase == "pick" and self._attempts < ATTEMPTS:
            self._phase = "place"
            self._attempts += 1
            return self._pick(truth, observation)
        return Stop("done" if self._phase == "done" else "not_grasped")

    def report(self) -> Mapping[str, Any]:
        return {"grasps": self._attempts}

    def _pick(self, truth: GroundTruth, observation: Observation) -> Waypoints:
        item = self._target(truth)
        position, yaw = self._in_base(truth, item.name)
        self._grasp = grasp = best_grasp(item, yaw)
        if grasp.width > self._max_opening:
            raise AgentError(
                f"agent 'expert': object {item.name!r} is {grasp.width:.3f} m wide and the gripper opens"
                f" {self._max_opening:.3f} m; give the scene a smaller object"
            )
        x, y, z = position
        low = z - item.size[2] / 2 + grasp.height
        high = low - grasp.height + item.size[2] + APPROACH
        carry = low + self._carry_height(truth)
        up = float(observation.end_effector.position[2])
        turn = grasp.quaternion
        fast, slow = self._options.speed, self._options.speed * CAREFUL
        goals = [
            Waypoint((x, y, high), turn, 0.0, fast),
            Waypoint((x, y, low), turn, 0.0, slow),
            Waypoint((x, y, low), turn, 1.0, slow),
            Waypoint((x, y, carry), turn, 1.0, slow),
        ]
        if up < high:
            # After a failed grasp the fingers may be beside or under the object's top.
            here = vec3(observation.end_effector.position)
            goals.insert(0, Waypoint((here[0], here[1], high), turn, 0.0, slow))
        return Waypoints(tuple(goals))

    def _place(self, truth: GroundTruth, observation: Observation) -> Waypoints:
        item, box = self._target(truth), self._container(truth)
        held, _ = self._in_base(truth, item.name)
        position, yaw = self._in_base(truth, box.name)
        tip = np.asarray(observation.end_effector.position)
        # The object may have shifted in the fingers: its middle, not theirs, goes over the middle of the box.
        x, y = (position - (held - tip))[:2]
        below = float(tip[2] - held[2]) + item.size[2] / 2
        low = float(position[2]) + box.wall + DROP + below
        angle = _square_with(self._grasp.angle, yaw)
        turn = pointing_down(angle)
        let_go = min(max(1.0 - (self._grasp.width + RELEASE) / self._max_opening, 0.0), 1.0)
        fast, slow = self._options.speed, self._options.speed * CAREFUL
        return Waypoints(
            (
                Waypoint((x, y, float(tip[2])), turn, 1.0, fast),
                Waypoint((x, y, low), turn, 1.0, slow),
                Waypoint((x, y, low), turn, let_go, slow),
                Waypoint((x, y, low + RETREAT), turn, let_go, slow),
            )
        )

    def _carry_height(self, truth: GroundTruth) -> float:
        box = self._container(truth)
        return box.wall + box.inner[2] + CARRY

    def _target(self, truth: GroundTruth) -> SceneObject:
        name = self._options.object
        return truth.scene.object(name) if name else truth.scene.objects[0]

    def _container(self, truth: GroundTruth) -> Receptacle:
        name = self._options.container
        return truth.scene.receptacle(name) if name else truth.scene.receptacles[0]

    def _in_base(self, truth: GroundTruth, name: str) -> tuple[Array, float]:
        """Position (3,) m and yaw (rad) of a free body in the robot base frame."""
        body = truth.state.bodies[name]
        to_base = rotation_matrix(self._base.quaternion).T
        turned = to_base @ rotation_matrix(body.quaternion)
        return to_base @ (body.position - np.asarray(self._base.position)), math.atan2(turned[1, 0], turned[0, 0])


def _held(truth: GroundTruth, name: str) -> bool:
    state = truth.state
    return state.touches(name, LEFT_FINGER) and state.touches(name, RIGHT_FINGER)


def _square_with(angle: float, yaw: float) -> float:
    """The angle nearest to `angle` at which the fingers are in line with a side of a box turned by `yaw`."""
    quarter = math.pi / 2
    return yaw + quarter * round((angle - yaw) / quarter)
