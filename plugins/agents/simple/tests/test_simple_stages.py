"""What the agent claims at its stages."""

from __future__ import annotations

import pytest

from rbench_agent_simple.stages import reported_stages

SEEN = {
    "start": {"label": "red cube", "surface": [0.5, 0.0, 0.04], "top": [0.48, 0.0, 0.05]},
    "end": {"label": "box"},
}


def test_it_claims_names_and_where_it_reaches_for_what_was_lifted() -> None:
    assert reported_stages(SEEN, "depth", None) == [
        {"stage": "ground", "role": "object", "named": "red cube"},
        {"stage": "ground", "role": "destination", "named": "box"},
        {"stage": "lift", "role": "object", "point": [0.48, 0.0, 0.05]},
    ]


def test_with_the_published_lift_it_reaches_for_the_near_face() -> None:
    assert reported_stages(SEEN, "surface", None)[-1]["point"] == [0.5, 0.0, 0.04]


@pytest.mark.parametrize(
    ("reason", "stage"),
    [("no_depth", "lift"), ("not_detected", "ground"), ("ground_parse", "ground"), ("plan_parse", "plan")],
)
def test_giving_up_belongs_to_a_stage(reason: str, stage: str) -> None:
    assert reported_stages({}, "depth", reason) == [{"stage": stage, "failed": reason}]
