"""The hash of a suite: equal for suites whose episodes are the same."""

from __future__ import annotations

from typing import Any

from rbench.design import Dimension
from rbench.suites.suite import Suite, SuiteFactor
from rbench.values import content_hash


def suite_hash(suite: Suite) -> str:
    """SHA-256 over what decides what an episode is.

    The name is in it because seeds derive from it; level values are, so that a sampler that changes its
    numbers changes the hash. Metrics, presets, requirements, where the file lies and how it is laid
    out are not.
    """
    return content_hash(
        {
            "name": suite.name,
            "world": suite.world,
            "render": suite.render,
            "viewpoint_cameras": suite.viewpoint_cameras,
            "extrinsics": suite.extrinsics,
            "tasks": suite.tasks,
            "scenes": suite.scenes,
            "factors": [_factor(factor) for factor in suite.factors.values()],
            "contexts": suite.contexts,
            "dimensions": [_dimension(dimension) for dimension in suite.dimensions],
            "protocol": suite.protocol,
        }
    )


def _factor(factor: SuiteFactor) -> dict[str, Any]:
    return {
        "name": factor.name,
        "sampler": (factor.distribution, factor.sampler),
        "options": factor.options,
        "role": factor.role,
        "baseline": factor.baseline,
        "levels": factor.levels,
    }


def _dimension(dimension: Dimension) -> dict[str, Any]:
    # Pairs: the order of a grid's factors is part of its ids, and the JSON of a mapping has no order.
    return {
        "levels": tuple(dimension.levels.items()),
        "contexts": dimension.contexts,
        "repeats": dimension.repeats,
    }
