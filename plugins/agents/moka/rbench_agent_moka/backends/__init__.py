"""The perception backends by name. They are imported when they are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rbench.errors import StartError
from rbench_agent_moka.weights import glance

if TYPE_CHECKING:
    from rbench_agent_moka.perception import Detector, Segmenter, Settings


@dataclass(frozen=True)
class Listed:
    """A backend: the targets `module:class` of its detector and its segmenter, None where it has none."""

    name: str
    detector: str | None
    segmenter: str | None
    automatic: bool = True


#: In the order in which `auto` tries them. The last automatic one needs nothing.
BACKENDS = (
    Listed(
        "transformers",
        "rbench_agent_moka.backends.transformers:TransformersDetector",
        "rbench_agent_moka.backends.transformers:TransformersSegmenter",
    ),
    Listed("groundingdino-py", "rbench_agent_moka.backends.groundingdino:GroundingDinoDetector", None),
    Listed("segment-anything", None, "rbench_agent_moka.backends.segment_anything:SamSegmenter"),
    Listed(
        "opencv",
        "rbench_agent_moka.backends.opencv:OpenCvDetector",
        "rbench_agent_moka.backends.opencv:OpenCvSegmenter",
    ),
    Listed(
        "ground-truth",
        "rbench_agent_moka.backends.ground_truth:TrueDetector",
        "rbench_agent_moka.backends.ground_truth:TrueSegmenter",
        automatic=False,
    ),
)


def detectors() -> tuple[str, ...]:
    """Names of the detectors."""
    return tuple(b.name for b in BACKENDS if b.detector)


def segmenters() -> tuple[str, ...]:
    """Names of the segmenters."""
    return tuple(b.name for b in BACKENDS if b.segmenter)


@cache
def detector(name: str, settings: Settings) -> tuple[str, Detector]:
    """The detector of that name, or with `auto` the first that can be used here; its name too. Made once a process.

    Raises:
        StartError: it cannot be used here; says why and what to do.
    """
    chosen, cls = _choose({b.name: b.detector for b in BACKENDS if b.detector}, name, settings)
    return chosen, cls(settings)


@cache
def segmenter(name: str, settings: Settings) -> tuple[str, Segmenter]:
    """As `detector`, for segmenters."""
    chosen, cls = _choose({b.name: b.segmenter for b in BACKENDS if b.segmenter}, name, settings)
    return chosen, cls(settings)


def _choose(targets: dict[str, str], name: str, settings: Settings) -> tuple[str, Any]:
    if name != "auto":
        cls = backend_class(targets[name])
        why = cls.missing(settings)
        if why is not None:
            _glance(cls, settings)
            raise StartError(f"agent 'moka': {name} cannot be used here: {why}")
        return name, cls
    candidates = [b.name for b in BACKENDS if b.automatic and b.name in targets]
    lacks = []
    for candidate in candidates[:-1] if settings.asked else candidates:
        cls = backend_class(targets[candidate])
        why = cls.missing(settings)
        if why is None:
            return candidate, cls
        lacks.append(f"{candidate}: {why}")
    for cls in automatic():  # those of the other part too: it is the same folder
        _glance(cls, settings)
    # Weights were named, and what needs none would be used instead of them without a word.
    raise StartError(
        f"agent 'moka': nothing can use the weights that were given. {'. '.join(lacks)}. Or"
        f" choose {candidates[-1]!r} by name"
    )


def automatic() -> Iterator[Any]:
    """The classes of detectors and segmenters among which `auto` chooses; imports no library of models."""
    for listed in BACKENDS:
        for target in (listed.detector, listed.segmenter):
            if target is not None and listed.automatic:
                yield backend_class(target)


def _glance(cls: Any, settings: Settings) -> None:
    """Name a file that is none of weights before libraries that are missing: with those it could not be used either."""
    for file in cls.files(settings):
        glance(file)


def backend_class(target: str) -> Any:
    """The class that a target `module:class` names; imports no library of models."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
