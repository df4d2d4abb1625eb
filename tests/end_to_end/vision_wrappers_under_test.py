"""A wrapper that stands between an agent and its vision model, where a stress detector and rectifier would stand."""

from __future__ import annotations

from dataclasses import replace

from rbench import Wrapper
from rbench.interfaces.vision import VisionModel

#: What it writes beside an answer, so that records tell which questions came through it.
MARK = "passed_on"


class PassesOn(VisionModel):
    """Here a picture would be mended, and boxes of the answer mapped back to the picture of the question."""

    def __init__(self, inner):
        self.inner = inner

    def ask(self, question, rng):
        reply = self.inner.ask(replace(question, images=tuple(image.copy() for image in question.images)), rng)
        return replace(reply, repairs=(*reply.repairs, MARK))


class Decorates(Wrapper):
    """Puts a vision model of its own around that of what it wraps, and changes nothing."""

    @classmethod
    def wrap_context(cls, options, context):
        return replace(context, vision=PassesOn(context.vision))
