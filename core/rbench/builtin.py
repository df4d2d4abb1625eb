"""Core's own contributions: the built-in suites and vision models."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import SuiteContribution, VisionModelContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_suites() -> Iterable[SuiteContribution]:
    """The built-in suites."""
    yield SuiteContribution(
        name="roboview-bias",
        summary="Visual bias in manipulation: 2,127 instances of colour, camera pose, Euler angles and distance.",
        target="rbench.suites:roboview-bias.toml",
        verified="The design reproduces the paper's instance and episode counts.",
    )
    yield SuiteContribution(
        name="roboview-bias-sgl",
        summary="Does grounding instructions make an agent less biased: 1,173 instances of colour and instruction.",
        target="rbench.suites:roboview-bias-sgl.toml",
        verified="Agent simple with and without the wrapper sgl, vision model opencv, preset quick.",
    )


@hookimpl
def rbench_vision_models() -> Iterable[VisionModelContribution]:
    """The embedded vision models."""
    yield VisionModelContribution(
        name="opencv",
        summary="Classical colour and shape vision: finds an open yellow box and a small solid; no weights or key.",
        target="rbench.vision.opencv:OpenCv",
        options="rbench.vision.opencv:Options",
        needs=("cv2",),
        verified="OpenCV 4.11 and 5.0; pictures of the built-in scenes, 128 to 448 pixels wide.",
    )
