"""What stands between an agent and its vision model, and a vision model that words matter to."""

from __future__ import annotations

from dataclasses import replace

from rbench import Wrapper
from rbench.interfaces.vision import VisionModel
from rbench.vision.opencv import OpenCv
from rbench.vision.questions import PickAndPlace
from rbench.vision.scene_objects import SceneObjects

#: What it writes beside an answer, so that records tell which questions came through it.
MARK = "passed_on"


class PassesOn(VisionModel):
    """Where a stress detector and rectifier would stand.

    Here a picture would be mended, and boxes of the answer mapped back to the picture of the question.
    """

    def __init__(self, inner):
        self.inner = inner

    def ask(self, question, rng):
        reply = self.inner.ask(replace(question, images=tuple(image.copy() for image in question.images)), rng)
        return replace(reply, repairs=(*reply.repairs, MARK))


class Decorates(Wrapper):
    """A no-op StressDART: puts a vision model of its own around that of what it wraps, and changes nothing."""

    @classmethod
    def wrap_context(cls, options, context):
        return replace(context, vision=PassesOn(context.vision))


class ReadsColours(VisionModel):
    """The embedded eye with a made-up bias: it overlooks an object of an unusual colour that nobody named."""

    usual = ("red", "green", "blue", "white")

    def __init__(self, options):
        self.eye = OpenCv()

    def ask(self, question, rng):
        reply = self.eye.ask(question, rng)
        if question.answer is not PickAndPlace:
            return reply
        color = self.eye.ask(replace(question, answer=SceneObjects), rng).value.root[0].color
        overlooked = color not in self.usual and color not in question.prompt
        return replace(reply, value=reply.value.model_copy(update={"start_xyxy": None})) if overlooked else reply
