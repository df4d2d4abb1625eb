"""Agents that stand around and inside what is checked, and write down what reaches them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbench.action import Action, Stop, Waypoint, Waypoints
from rbench.interfaces.agent import Agent, AgentManifest, EpisodeStart
from rbench.interfaces.wrapper import Wrapper
from rbench.observation import CameraRequest, Observation

#: Calls of `act` after which the probe stops, and the reason it gives.
PROBE_CALLS, PROBE_REASON = 3, "probe_done"
MANIFEST = AgentManifest(actions=("waypoints",), cameras={"front": CameraRequest(48, 64)}, primary="front")
#: A manifest that differs from it in every field that can differ.
OTHER_MANIFEST = AgentManifest(
    actions=("waypoints", "joint_positions"),
    cameras={"left_top": CameraRequest(40, 40, ("rgb", "depth")), "front": CameraRequest(32, 32)},
    primary="left_top",
    kinds=("manipulation", "question"),
    control_rate=15,
)
_DOWN = (0.0, 1.0, 0.0, 0.0)


class ProbeAgent(Agent):
    """An agent whose every action follows from everything that it was given, and from nothing else.

    Attributes:
        resets: how often it was reset.
    """

    def __init__(
        self,
        options: Any = None,
        context: Any = None,
        *,
        manifest: AgentManifest = MANIFEST,
        on_act: Callable[[Observation], None] = lambda observation: None,
    ) -> None:
        self.context = context
        self.resets = 0
        self._manifest = manifest
        self._on_act = on_act

    @property
    def manifest(self) -> AgentManifest:
        return self._manifest

    def reset(self, start: EpisodeStart) -> None:
        self.resets += 1
        self._calls = 0
        self._rng = start.rng
        self._told = start.instruction.encode(errors="replace")

    def act(self, observation: Observation) -> Action:
        self._on_act(observation)
        self._calls += 1
        if self._calls > PROBE_CALLS:
            return Stop(PROBE_REASON)
        seen = hashlib.sha256(self._told + observation.joint_positions.tobytes())
        for view in observation.cameras.values():
            if "rgb" in view.channels:
                seen.update(view.rgb.tobytes())
        x, y = np.frombuffer(seen.digest()[:2], dtype=np.uint8) / 255.0
        z = float(self._rng.random())
        goal = Waypoint((0.40 + 0.15 * float(x), 0.1 * float(y) - 0.05, 0.2 + 0.1 * z), _DOWN, 0.0)
        return Waypoints((goal,))

    def report(self) -> Mapping[str, Any]:
        return {"probe": {"calls": getattr(self, "_calls", 0)}}

    def timing(self) -> Mapping[str, float]:
        return {"probe": 0.5}


@dataclass
class Call:
    """A call that passed a marker: where, which method, what went in (as plain facts) and what came out."""

    where: str
    method: str
    given: dict[str, Any]
    gave: Any = None

    @property
    def name(self) -> str:
        return f"{self.where}.{self.method}"


class Marker(Wrapper):
    """A wrapper that changes nothing and writes down every call, when it comes in."""

    def __init__(self, where: str, inner: Agent, log: list[Call]) -> None:
        super().__init__(None, None, inner)
        self._where = where
        self._log = log

    def reset(self, start: EpisodeStart) -> None:
        given = {
            "instruction": start.instruction,
            "start": repr((start.robot, start.control_rate, start.rng.bit_generator.state)),
            "observations": _seen(start.observation),
        }
        self._note("reset", given)
        super().reset(start)

    def act(self, observation: Observation) -> Action:
        call = self._note("act", {"observations": _seen(observation)})
        call.gave = super().act(observation)
        return call.gave  # type: ignore[no-any-return]  # it is what act() returned

    def report(self) -> Mapping[str, Any]:
        call = self._note("report", {})
        call.gave = super().report()
        return call.gave  # type: ignore[no-any-return]

    def timing(self) -> Mapping[str, float]:
        call = self._note("timing", {})
        call.gave = super().timing()
        return call.gave  # type: ignore[no-any-return]

    def close(self) -> None:
        self._note("close", {})
        super().close()

    def _note(self, method: str, given: dict[str, Any]) -> Call:
        call = Call(self._where, method, given)
        self._log.append(call)
        return call


def _seen(observation: Observation) -> str:
    """A digest of everything that can be seen in an observation."""
    seen = hashlib.sha256(repr((observation.time, observation.gripper, observation.end_effector)).encode())
    seen.update(observation.joint_positions.tobytes() + observation.joint_velocities.tobytes())
    for name, view in observation.cameras.items():
        seen.update(f"{name} {view.intrinsics} {view.extrinsics.tolist()}".encode())
        for channel in view.channels:
            seen.update(getattr(view, channel).tobytes())
    return seen.hexdigest()


def privileged(manifest: AgentManifest) -> AgentManifest:
    """The manifest of an agent that reads ground truth."""
    return replace(manifest, privileged=True)
