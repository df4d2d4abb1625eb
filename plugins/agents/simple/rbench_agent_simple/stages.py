"""What the agent claims at its two stages, in the form in which `rbench` compares it with the truth afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What a claim is about, by where the agent keeps what it saw of it.
_ROLES = {"start": "object", "end": "destination"}


def reported_stages(seen: Mapping[str, Mapping[str, Any]], lift: str, failed: str | None) -> list[dict[str, Any]]:
    """`ground`: what it calls things; `lift`: where it reaches for them; and where it gave up, with the reason.

    Args:
        seen: `label` and, when it was lifted, `surface` and `top` of `start` and `end`.
    """
    point = "surface" if lift == "surface" else "top"
    named = [{"stage": "ground", "role": _ROLES[key], "named": found["label"]} for key, found in seen.items()]
    lifted = [
        {"stage": "lift", "role": _ROLES[key], "point": found[point]} for key, found in seen.items() if point in found
    ]
    if failed is None:
        return [*named, *lifted]
    stage = "lift" if failed == "no_depth" else "plan" if failed.startswith("plan") else "ground"
    return [*named, *lifted, {"stage": stage, "failed": failed}]
