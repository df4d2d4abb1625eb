"""The agent `simple`: one vision model and a heuristic policy, after RoboView-Bias's SimpleAgent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rbench.action import Action, JointPositions, Stop, Waypoint, Waypoints
from rbench.errors import StartError
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.observation import CameraRequest, CameraView, Observation
from rbench.vision.asking import Interview
from rbench.vision.questions import PickAndPlace
from rbench_agent_simple.calls import FunctionCall
from rbench_agent_simple.grounding import Ungrounded, asked_until_usable, locate_question
from rbench_agent_simple.lifting import Box4, Cloud, Lifted, NoDepth, lifted
from rbench_agent_simple.motion import pick_and_place
from rbench_agent_simple.options import Options
from rbench_agent_simple.planning import Plan, WrittenPlan, allowed_plan, plan_question, straight
from rbench_agent_simple.stages import reported_stages
from rbench_agent_simple.two_point import TwoPoint, measured


class SimpleAgent(Agent):
    """Looks once, asks once, moves once, stops. No look at whether it worked.

    With a planner it first asks which functions to call, and looks again for every object that it moves. Reasons to
    stop before moving: `not_detected` (no box for the object or its destination), `bad_boxes`, `ground_parse`,
    `truncated`, `refused` (the answer), `no_depth` (nothing to lift in a box); `plan_parse`, `empty_plan` (no call
    that is allowed).
    """

    def __init__(self, options: Options | None, context: AgentContext) -> None:
        self._options = options or Options()
        if context.vision is None:
            raise StartError(
                "agent 'simple' asks a vision model, and the run has none; choose one with --vision opencv"
            )
        self._vision = context.vision
        self._map: TwoPoint | None = None
        if self._options.lift == "two_point":
            self._map = measured(self._options.camera, self._options.height, self._options.width)

    @property
    def manifest(self) -> AgentManifest:
        options = self._options
        request = CameraRequest(options.height, options.width, ("rgb", "depth") if self._map is None else ("rgb",))
        return AgentManifest(
            actions=("waypoints",) if options.planner == "none" else ("waypoints", "joint_positions"),
            cameras={options.camera: request},
            primary=options.camera,
        )

    def reset(self, start: EpisodeStart) -> None:
        self._start = start
        self._interview = Interview(self._vision, start.rng)
        self._plan: Plan | None = straight(start.instruction) if self._options.planner == "none" else None
        self._done = 0
        self._gripper = 0.0
        self._seen: dict[str, Any] = {}
        self._failed: str | None = None

    def act(self, observation: Observation) -> Action:
        try:
            if self._plan is None:
                self._plan = self._planned(observation.cameras[self._options.camera])
                if not self._plan.calls:
                    return Stop("empty_plan")
            if self._done == len(self._plan.calls):
                return Stop("done")
            action = self._carried_out(self._plan.calls[self._done], observation)
        except (Ungrounded, NoDepth) as problem:
            self._failed = problem.reason if isinstance(problem, Ungrounded) else "no_depth"
            return Stop(self._failed)
        self._done += 1
        return action

    def report(self) -> Mapping[str, Any]:
        """The questions asked, and for object (`start`) and box (`end`) what was seen and where it was lifted to."""
        planned = {"plan": self._plan.plain()} if self._options.planner == "llm" and self._plan is not None else {}
        stages = reported_stages(self._seen, self._options.lift, self._failed)
        return {
            "questions": self._interview.plain(),
            "lift": self._options.lift,
            **planned,
            **self._seen,
            "stages": stages,
        }

    def timing(self) -> Mapping[str, float]:
        """Seconds spent waiting for the vision model."""
        return {"vision": self._interview.seconds}

    def _planned(self, view: CameraView) -> Plan:
        question = plan_question(self._start.instruction, view.rgb)
        written = asked_until_usable(self._interview, question, self._options.attempts, "plan_parse")
        assert isinstance(written, WrittenPlan)
        return allowed_plan(written)

    def _carried_out(self, call: FunctionCall, observation: Observation) -> Waypoints | JointPositions:
        """The motion of one call. The rest pose is that at the start: the arm is out of the cameras' way there."""
        if call.name == "vlm_move":
            self._gripper = 0.0
            return pick_and_place(
                *self._located(call.argument, observation.cameras[self._options.camera]), self._options
            )
        if call.name == "wait":
            ticks = max(1, round(call.argument * self._start.control_rate))
            return JointPositions(np.tile(np.append(observation.joint_positions, self._gripper), (ticks, 1)))
        pose = observation.end_effector
        if call.name in ("back_zero", "move_to_top_view"):
            pose = self._start.observation.end_effector
        else:
            self._gripper = float(call.name == "pump_on")
        return Waypoints((Waypoint(pose.position, pose.quaternion, self._gripper, self._options.speed),))

    def _located(self, instruction: str, view: CameraView) -> tuple[Lifted, Lifted]:
        question = locate_question(instruction, view.rgb)
        answer = asked_until_usable(self._interview, question, self._options.attempts, "ground_parse")
        assert isinstance(answer, PickAndPlace)
        found = {"start": answer.object, "end": answer.destination}
        self._seen = {name: {"label": f.label, "box": list(f.box.root)} for name, f in found.items() if f is not None}
        if answer.object is None or answer.destination is None:
            raise Ungrounded("not_detected")
        start, end = self._lifted(view, answer.object.box.root, answer.destination.box.root)
        for name, point in (("start", start), ("end", end)):
            metres = {"surface": list(point.surface), "top": list(point.top), "table": [point.table]}
            self._seen[name] |= {key: [round(v, 6) for v in values] for key, values in metres.items()}
        return start, end

    def _lifted(self, view: CameraView, start: Box4, end: Box4) -> tuple[Lifted, Lifted]:
        if self._map is not None:
            return self._map.lifted(start, end)
        cloud = Cloud(view.depth, view.intrinsics, view.extrinsics)
        return lifted(cloud, start), lifted(cloud, end)
