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
    """Core's vision models."""
    yield VisionModelContribution(
        name="opencv",
        summary="Classical colour and shape vision: finds an open yellow box and a small solid; no weights or key.",
        target="rbench.vision.opencv:OpenCv",
        options="rbench.vision.opencv:Options",
        needs=("cv2",),
        verified="OpenCV 4.11 and 5.0; pictures of the built-in scenes, 128 to 448 pixels wide.",
    )
    yield VisionModelContribution(
        name="openai",
        summary="Any endpoint that speaks the OpenAI protocol: Qwen-VL, GPT-4o, a local vLLM.",
        target="rbench.vision.chat.model:OpenAi",
        options="rbench.vision.chat.options:Options",
        needs=("openai",),
        verified="A local server that speaks the protocol, openai 3.57; no endpoint of a provider was asked.",
    )
    yield VisionModelContribution(
        name="replay",
        summary="Answers that a run recorded before, without network; what is not recorded ends the run.",
        target="rbench.vision.replay:Replay",
        options="rbench.vision.replay:Options",
        verified="Recordings of opencv and openai runs.",
    )
