"""What passes between a run and a served agent, as plain maps and arrays; numbers arrive bit for bit.

The names of the keys are part of the protocol (`rbench.remote.agent_server`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rbench.action import Action, Answer, JointPositions, JointVelocities, Stop, Waypoint, Waypoints
from rbench.errors import StaleObservation
from rbench.geometry import Pose
from rbench.interfaces.agent import AgentManifest, EpisodeStart, RobotFacts
from rbench.observation import CameraRequest, CameraView, Channel, GroundTruth, Intrinsics, Observation
from rbench.remote.agent_server import StaleObservation as StaleAtTheHost
from rbench.remote.agent_server import generator_state
from rbench.scene import SceneDescription
from rbench.values import from_plain, to_plain
from rbench.world_state import BodyState, RobotState, WorldState


def manifest_message(manifest: AgentManifest) -> dict[str, Any]:
    """A manifest as plain data."""
    plain: dict[str, Any] = to_plain(manifest)
    return plain


def manifest_of(message: Any) -> AgentManifest:
    """The manifest of a greeting. Raises ValueError for what is none; whether its values make sense is not checked."""
    return from_plain(AgentManifest, message)


def start_message(start: EpisodeStart, observation: Mapping[str, Any], vision: bool) -> dict[str, Any]:
    """The start of an episode.

    Args:
        observation: its first observation as a message.
        vision: whether the run has a vision model that the agent may ask.
    """
    return {
        "instruction": start.instruction,
        "control_rate": start.control_rate,
        "robot": to_plain(start.robot),
        "rng": generator_state(start.rng),
        "observation": observation,
        "vision": vision,
    }


def robot_of(message: Any) -> RobotFacts:
    """The facts of the robot."""
    return from_plain(RobotFacts, message)


def observation_message(observation: Observation, serial: int) -> dict[str, Any]:
    """An observation without its pictures and ground truth, which are sent when the agent reads them."""
    return {
        "serial": serial,
        "time": float(observation.time),
        "joint_positions": observation.joint_positions,
        "joint_velocities": observation.joint_velocities,
        "gripper": float(observation.gripper),
        "end_effector": _pose_message(observation.end_effector),
        "cameras": {
            name: {
                "height": view.height,
                "width": view.width,
                "channels": list(view.channels),
                "intrinsics": [float(getattr(view.intrinsics, key)) for key in ("fx", "fy", "cx", "cy")],
                "extrinsics": view.extrinsics,
            }
            for name, view in observation.cameras.items()
        },
    }


class RemoteObservation(Observation):
    """An observation that was sent; ground truth is fetched when it is read."""

    def __init__(self, seen: Any, fetch_truth: Callable[[], Any] | None) -> None:
        """Make it.

        Args:
            seen: the `rbench.remote.agent_server.Observation` that arrived.
            fetch_truth: returns the ground truth as a message; None: the agent is not privileged.
        """
        super().__init__(
            time=seen.time,
            cameras={name: _view(view) for name, view in seen.cameras.items()},
            joint_positions=np.array(seen.joint_positions),
            joint_velocities=np.array(seen.joint_velocities),
            gripper=seen.gripper,
            end_effector=_pose(seen.end_effector),
        )
        self._fetch_truth = fetch_truth

    @property
    def ground_truth(self) -> GroundTruth:
        if self._ground_truth is None and self._fetch_truth is not None:
            self._ground_truth = ground_truth_of(self._fetch_truth())
        return super().ground_truth


def _view(view: Any) -> CameraView:
    def draw(channel: Channel) -> Any:
        try:
            return np.array(view.image(channel))
        except StaleAtTheHost as problem:
            raise StaleObservation(str(problem)) from None

    request = CameraRequest(view.height, view.width, view.channels)
    return CameraView(view.name, request, Intrinsics(*view.intrinsics), lambda: np.array(view.extrinsics), draw)


def ground_truth_message(truth: GroundTruth) -> dict[str, Any]:
    """Scene and state as plain data and arrays."""
    state = truth.state
    return {
        "scene": to_plain(truth.scene),
        "state": {
            "time": float(state.time),
            "robot": dict(zip(RobotState._fields, state.robot, strict=True)),
            "bodies": {name: list(body) for name, body in state.bodies.items()},
            "contacts": sorted(list(pair) for pair in state.contacts),
            "cavities": {name: list(size) for name, size in state.cavities.items()},
            "floors": dict(state.floors),
        },
    }


def ground_truth_of(message: Mapping[str, Any]) -> GroundTruth:
    """The ground truth that was sent."""
    state = message["state"]
    return GroundTruth(
        from_plain(SceneDescription, message["scene"]),
        WorldState(
            time=state["time"],
            robot=RobotState(**state["robot"]),
            bodies={name: BodyState(*body) for name, body in state["bodies"].items()},
            contacts=frozenset((a, b) for a, b in state["contacts"]),
            cavities={name: (x, y, z) for name, (x, y, z) in state["cavities"].items()},
            floors=state["floors"],
        ),
    )


def action_message(action: Action) -> dict[str, Any]:
    """An action that was checked."""
    if isinstance(action, (JointPositions, JointVelocities)):
        kind = "joint_positions" if isinstance(action, JointPositions) else "joint_velocities"
        return {"kind": kind, "rows": action.rows}
    if isinstance(action, Waypoints):
        goals = [[list(g.position), list(g.quaternion), g.gripper, g.speed] for g in action.goals]
        return {"kind": "waypoints", "goals": goals}
    if isinstance(action, Answer):
        return {"kind": "answer", "value": to_plain(action.value)}
    return {"kind": "stop", "reason": action.reason}


def action_of(message: Any) -> Action:
    """The action that was sent; whether it can be executed is for the host to check.

    Raises:
        ValueError: it is none.
    """
    kind = message.get("kind") if isinstance(message, dict) else None
    try:
        if kind == "joint_positions":
            return JointPositions(message["rows"])
        if kind == "joint_velocities":
            return JointVelocities(message["rows"])
        if kind == "waypoints":
            return Waypoints(tuple(Waypoint(tuple(p), tuple(q), g, s) for p, q, g, s in message["goals"]))
        if kind == "answer":
            return Answer(message["value"])
        if kind == "stop":
            return Stop(str(message["reason"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"an action {kind!r} that cannot be read ({type(problem).__name__}: {problem})") from None
    raise ValueError(f"no action but {str(message)[:80]!r}")


def _pose_message(pose: Pose) -> dict[str, Any]:
    return {"position": [float(v) for v in pose.position], "quaternion": [float(v) for v in pose.quaternion]}


def _pose(message: Mapping[str, Any]) -> Pose:
    x, y, z = message["position"]
    w, i, j, k = message["quaternion"]
    return Pose((x, y, z), (w, i, j, k))
