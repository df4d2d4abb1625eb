"""The wrapper `sgl`: asks once what is in the scene, and tells the agent which objects are meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rbench.errors import StartError
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.interfaces.wrapper import Wrapper
from rbench.observation import CameraRequest
from rbench.seeding import generator
from rbench.vision.asking import Interview
from rbench_agent_sgl.action_question import asked_action
from rbench_agent_sgl.instruction import core_action
from rbench_agent_sgl.options import Options
from rbench_agent_sgl.refinement import Trace, kept, refined
from rbench_agent_sgl.scene import SCENE, NoScene, parsed_scene, scene_question


class Sgl(Wrapper):
    """Semantic grounding before execution (RoboView-Bias, section 6.6): once an episode, before the agent is told.

    What the agent sees and does passes through. An agent that takes no colour picture is given a camera more, which
    it need not look at.
    """

    def __init__(self, options: Options | None, context: AgentContext, inner: Agent) -> None:
        super().__init__(options or Options(), context, inner)
        if context.vision is None:
            raise StartError("wrapper 'sgl' asks a vision model, and the run has none; choose one with --vision opencv")
        self._vision = context.vision
        self._options: Options = self.options
        self._trace: Trace | None = None
        self._interview: Interview | None = None

    @property
    def manifest(self) -> AgentManifest:
        """That of the agent inside, with colour from the camera that is shown to the model."""
        inner = self.inner.manifest
        name = self._camera(inner)
        request = inner.cameras.get(name)
        if request is None:
            request = CameraRequest(self._options.height, self._options.width)
        elif "rgb" in request.channels:
            return inner
        else:
            request = replace(request, channels=("rgb", *request.channels))
        return replace(inner, cameras={**inner.cameras, name: request})

    def reset(self, start: EpisodeStart) -> None:
        self._trace = None
        self._interview = Interview(self._vision, _own_generator(start.rng))
        self._trace = self._refined(start, self._interview)
        super().reset(replace(start, instruction=self._trace.refined))

    def report(self) -> Mapping[str, Any]:
        """The inner agent's report, and under `sgl` the trace and the questions."""
        inner = super().report()
        if self._trace is None or self._interview is None:
            return inner
        asked = self._interview.asked
        mine = {
            **self._trace.plain(),
            "attempts": sum(a.question == SCENE for a in asked),
            "questions": self._interview.plain(),
        }
        # Around itself: what the inner one asked is not forgotten.
        return {**inner, "sgl": {**mine, "inner": inner["sgl"]} if "sgl" in inner else mine}

    def timing(self) -> Mapping[str, float]:
        """The inner agent's times, and the seconds spent waiting for the vision model here."""
        inner = super().timing()
        own = self._interview.seconds if self._interview else 0.0
        return {**inner, "sgl": own + inner.get("sgl", 0.0)}

    def _refined(self, start: EpisodeStart, interview: Interview) -> Trace:
        instruction, options = start.instruction, self._options
        image = start.observation.cameras[self._camera(self.inner.manifest)].rgb
        try:
            scene = parsed_scene(interview, scene_question(instruction, image), options.attempts)
        except NoScene as problem:
            return kept(instruction, problem.reason)
        if options.action == "model" and (action := asked_action(interview, instruction, image)) is not None:
            return refined(instruction, action, scene, options, "model")
        return refined(instruction, core_action(instruction), scene, options, "grammar")

    def _camera(self, inner: AgentManifest) -> str:
        """The camera whose picture is shown to the model."""
        colored = [name for name, request in inner.cameras.items() if "rgb" in request.channels]
        return self._options.camera or inner.primary or (colored[0] if colored else "front")


def _own_generator(rng: np.random.Generator) -> np.random.Generator:
    """A generator that follows from the agent's and leaves that one as it was: the agent draws what it drew alone."""
    sequence = rng.bit_generator.seed_seq
    return generator(sequence, "sgl") if isinstance(sequence, np.random.SeedSequence) else rng
