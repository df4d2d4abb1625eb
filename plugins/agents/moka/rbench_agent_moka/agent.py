"""The agent `moka`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbench.action import Stop, Waypoint, Waypoints
from rbench.errors import StartError
from rbench.geometry import Pose
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.observation import CameraRequest, Observation
from rbench.vision.asking import Interview
from rbench.vision.manipulation import PlannedStep
from rbench_agent_moka.backends import detector, segmenter
from rbench_agent_moka.failures import GaveUp
from rbench_agent_moka.options import Options
from rbench_agent_moka.perception import Settings
from rbench_agent_moka.phases import Phase, phases
from rbench_agent_moka.planning import names, plan
from rbench_agent_moka.published_marks import require_matplotlib
from rbench_agent_moka.sight import Sight
from rbench_agent_moka.stages import OBJECT, PLACE, Stages
from rbench_agent_moka.subtask import SubtaskMaker


class Moka(Agent):
    """Plans once, then for each subtask looks, asks for a motion and carries it out. It never checks what it did.

    Reasons to stop: `done`; `plan_parse`, `plan_truncated`, `plan_refused`, and the same with `motion_`;
    `no_detection:<name>`; `no_depth`; `timeout`.
    """

    def __init__(self, options: Options | None, context: AgentContext) -> None:
        self._options = options = options or Options()
        if context.vision is None:
            raise StartError("agent 'moka' asks a vision model, and the run has none; choose one with --vision opencv")
        if options.render == "matplotlib369":
            require_matplotlib()
        self._vision = context.vision
        self._detector_name, self._detector = detector(options.detector, _settings(options, context, "detector"))
        self._segmenter_name, self._segmenter = segmenter(options.segmenter, _settings(options, context, "segmenter"))
        context.logger.info("perception: detector %s, segmenter %s", self._detector_name, self._segmenter_name)

    @property
    def manifest(self) -> AgentManifest:
        options = self._options
        request = CameraRequest(options.height, options.width, ("rgb", "depth"))
        return AgentManifest(
            actions=("waypoints",),
            cameras={options.camera: request},
            primary=options.camera,
            privileged=self._privileged,
            weights=self._detector.weights | self._segmenter.weights,
        )

    def reset(self, start: EpisodeStart) -> None:
        self._instruction, self._base = start.instruction, start.robot.base
        self._neutral = start.observation.end_effector
        self._interview = Interview(self._vision, start.rng)
        self._stages = Stages()
        self._maker = SubtaskMaker(
            self._detector, self._segmenter, self._interview, start.rng, self._options, self._stages
        )
        self._plan: tuple[PlannedStep, ...] | None = None
        self._next = 0
        self._queue: list[Phase] = []
        self._trace: list[dict[str, Any]] = []
        self._deadline = 0.0

    def act(self, observation: Observation) -> Waypoints | Stop:
        self._stages.time = observation.time
        if self._trace:
            self._trace[-1]["arrived"] = _rounded(observation.end_effector)
        try:
            if not self._queue:
                self._begin_subtask(observation)
            if not self._queue:
                return Stop("done")
            if observation.time > self._deadline:
                raise GaveUp("timeout")
        except GaveUp as problem:
            return Stop(problem.reason)
        return self._go(self._queue.pop(0))

    def report(self) -> Mapping[str, Any]:
        """Plan, questions, perception, what was chosen in every subtask, the phases, and the stages for their truth."""
        return {
            "perception": {"detector": self._detector_name, "segmenter": self._segmenter_name},
            "weights": self._detector.weights | self._segmenter.weights,
            "questions": self._interview.plain(),
            "plan": None if self._plan is None else [step.model_dump() for step in self._plan],
            "subtasks": self._maker.seen,
            "near_colors": [probe for seen in self._maker.seen for probe in seen.get("near_colors", ())],
            "phases": self._trace,
            "stages": self._stages.entries,
        }

    def timing(self) -> Mapping[str, float]:
        """Seconds spent waiting for the vision model."""
        return {"vision": self._interview.seconds}

    @property
    def _privileged(self) -> bool:
        return self._detector.privileged or self._segmenter.privileged

    def _begin_subtask(self, observation: Observation) -> None:
        """Fill the queue with the next subtask; before any but the first, go where nothing is hidden."""
        if self._plan is not None and self._next == min(len(self._plan), self._options.max_subtasks):
            return
        if self._next and (not self._trace or self._trace[-1]["phase"] != "neutral"):
            self._deadline = observation.time + self._options.subtask_seconds
            self._queue = [Phase("neutral", _at(self._neutral, self._options.high_speed))]
            return
        sight = Sight.of(observation, self._base, self._options, self._privileged)
        if self._plan is None:
            self._plan = self._planned(sight)
        step = self._plan[self._next]
        motion = self._maker.motion(sight, step, names(self._plan))
        self._queue = phases(motion, observation.end_effector, self._next == 0, self._options)
        self._deadline = observation.time + self._options.subtask_seconds
        self._next += 1

    def _planned(self, sight: Sight) -> tuple[PlannedStep, ...]:
        with self._stages.stage("plan"):
            steps = plan(self._interview, self._instruction, sight.rgb, self._options.attempts)
            for step in steps[: self._options.max_subtasks]:
                for role, name in ((OBJECT, step.object_grasped), (PLACE, step.object_unattached)):
                    if name:
                        self._stages.claim(role, named=name)
        return steps

    def _go(self, phase: Phase) -> Waypoints:
        goal = phase.goal
        self._trace.append({"phase": phase.name, "goal": [round(v, 6) for v in goal.position], "gripper": goal.gripper})
        return Waypoints((goal,))


def _settings(options: Options, context: AgentContext, part: str) -> Settings:
    """What a backend is made with. Weights that the user names for the run must be used, those of the machine may."""
    named = {"detector": options.detector_weights, "segmenter": options.segmenter_weights}
    return Settings(
        weights=_path("weights", options.weights) or context.weights,
        device=options.device,
        text_threshold=options.text_threshold,
        detector_weights=_path("detector_weights", options.detector_weights),
        segmenter_weights=_path("segmenter_weights", options.segmenter_weights),
        text_encoder=_path("text_encoder", options.text_encoder),
        asked=bool(options.weights or named[part]),
    )


def _path(option: str, given: str | None) -> Path | None:
    """The path that an option names.

    Raises:
        StartError: there is nothing.
    """
    if not given:
        return None
    try:
        path = Path(given).expanduser()
        there = path.exists()
    except (OSError, RuntimeError):  # a name that is too long; the home of nobody
        there = False
    if not there:
        raise StartError(f"agent 'moka': -o {option}={given!r}: nothing is there; give a path with weights")
    return path


def _at(pose: Pose, speed: float) -> Waypoint:
    return Waypoint(pose.position, pose.quaternion, 0.0, speed)


def _rounded(pose: Pose) -> list[float]:
    return [round(v, 6) for v in pose.position]
