from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rbench.design import Design, Dimension
from rbench.record import EpisodeRecord, Hashes


@pytest.fixture
def make_record() -> Callable[..., EpisodeRecord]:
    def make(report: Any, color: str = "red", shape: str = "cube", context: str = "base", repeat: int = 0, **more: Any):
        return EpisodeRecord(
            **{
                "episode": f"color/{color}/{context}#{repeat}",
                "instance": f"color/{color}/{context}",
                "repeat": repeat,
                "task": "task",
                "dimension": "color",
                "context": context,
                "levels": {"color": color, "shape": shape},
                "values": {},
                "jitter": {},
                "seed": 0,
                "outcome": "success",
                "reason": "goal",
                "success": True,
                "score": 1.0,
                "steps": 1,
                "sim_seconds": 0.1,
                "events": (),
                "instruction": "put it in the box",
                "hashes": Hashes("", ""),
                "agent": {"report": report},
                **more,
            }
        )

    return make


@pytest.fixture
def design() -> Design:
    return Design(
        suite="study",
        dimensions=(Dimension("color", {"color": ("red", "crimson", "gray")}, ("base",), 1),),
        contexts=(),
        baselines={},
        groups={"color": {"red": "red", "crimson": "red", "gray": "gray"}},
    )


#: What no agent should report and some do.
HOSTILE = [
    None,
    7,
    "stages",
    {"stages": "object", "near_colors": "red"},
    {"stages": {"role": "object"}, "near_colors": {"word": "red"}},
    {"stages": [None, 3, {"role": "object"}, {"role": "object", "named": 5}, {"role": "object", "named": "  "}]},
    {"near_colors": [None, {"near": 3}, {"word": "red", "score": 0.5, "near": {"crimson": None, "plum": "0.9"}}]},
    {"near_colors": [{"word": "red", "score": float("nan"), "near": {"crimson": 0.5}}]},
    {"near_colors": [{"word": "red", "score": True, "near": {"crimson": 0.5}}]},
    {"near_colors": [{"word": ["red"], "score": 0.1, "near": {"crimson": 0.5}}]},
    {"near_colors": [{"word": "red", "score": 0.1, "near": {"crimson": 1e300}}]},
]


@pytest.fixture(params=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest) -> Any:
    return HOSTILE[request.param]
