"""The agent `simple`: one vision model and a heuristic policy, after RoboView-Bias's SimpleAgent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rbench.action import Stop, Waypoints
from rbench.errors import StartError
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.observation import CameraRequest, CameraView, Observation
from rbench.vision.asking import Interview
from rbench_agent_simple.grounding import Ungrounded, grounded, locate_question
from rbench_agent_simple.lifting import Cloud, Lifted, NoDepth, lifted
from rbench_agent_simple.motion import pick_and_place
from rbench_agent_simple.options import Options


class SimpleAgent(Agent):
    """Looks once, asks once, moves once, stops. No planning again, no look at whether it worked.

    Reasons to stop before moving: `not_detected` (no box for the object or its destination), `bad_boxes`,
    `ground_parse`, `truncated`, `refused` (the answer), `no_depth` (nothing to lift in a box).
    """

    def __init__(self, options: Options | None, context: AgentContext) -> None:
        self._options = options or Options()
        if context.vision is None:
            raise StartError(
                "agent 'simple' asks a vision model, and the run has none; choose one with --vision opencv"
            )
        self._vision = context.vision

    @property
    def manifest(self) -> AgentManifest:
        options = self._options
        request = CameraRequest(options.height, options.width, ("rgb", "depth"))
        return AgentManifest(actions=("waypoints",), cameras={options.camera: request}, primary=options.camera)

    def reset(self, start: EpisodeStart) -> None:
        self._instruction = start.instruction
        self._interview = Interview(self._vision, start.rng)
        self._moved = False
        self._seen: dict[str, Any] = {}

    def act(self, observation: Observation) -> Waypoints | Stop:
        if self._moved:
            return Stop("done")
        view = observation.cameras[self._options.camera]
        try:
            start, end = self._located(view)
        except Ungrounded as problem:
            return Stop(problem.reason)
        except NoDepth:
            return Stop("no_depth")
        self._moved = True
        return pick_and_place(start, end, self._options)

    def report(self) -> Mapping[str, Any]:
        """The questions asked, and for object (`start`) and box (`end`) what was seen and where it was lifted to."""
        return {"questions": self._interview.plain(), "lift": self._options.lift, **self._seen}

    def timing(self) -> Mapping[str, float]:
        """Seconds spent waiting for the vision model."""
        return {"vision": self._interview.seconds}

    def _located(self, view: CameraView) -> tuple[Lifted, Lifted]:
        question = locate_question(self._instruction, view.rgb)
        answer = grounded(self._interview, question, self._options.attempts)
        found = {"start": answer.object, "end": answer.destination}
        self._seen = {name: {"label": f.label, "box": list(f.box.root)} for name, f in found.items() if f is not None}
        if answer.object is None or answer.destination is None:
            raise Ungrounded("not_detected")
        cloud = Cloud(view.depth, view.intrinsics, view.extrinsics)
        start, end = lifted(cloud, answer.object.box.root), lifted(cloud, answer.destination.box.root)
        for name, point in (("start", start), ("end", end)):
            metres = {"surface": list(point.surface), "top": list(point.top), "table": [point.table]}
            self._seen[name] |= {key: [round(v, 6) for v in values] for key, values in metres.items()}
        return start, end
