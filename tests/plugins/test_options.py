"""Options of contributions: numbers are finite."""

from __future__ import annotations

from typing import Any

import pytest

from rbench.errors import UsageError
from rbench.plugins.catalog import Catalog

FACTORS = {
    "position": [{"positions": {"p1": [float("nan"), 0.0]}}, {"positions": {"p1": [0.5, "inf"]}}],
    "camera-pose": [{"radius": float("inf")}, {"target": [0.4, float("nan"), 0.0]}, {"azimuths": [float("-inf")]}],
    "camera-euler": [{"yaw": [float("nan")]}, {"pitch": ["Infinity"]}],
    "camera-distance": [{"distances": [0.0, float("inf")]}],
}


@pytest.mark.parametrize(("name", "options"), [(name, o) for name, several in FACTORS.items() for o in several])
def test_a_factor_takes_finite_numbers_only(catalog: Catalog, name: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="finite"):
        catalog.make("factor", name, options)


def test_a_model_that_would_take_them_is_given_none() -> None:
    from pydantic import BaseModel, ConfigDict

    from rbench.plugins.options import checked_options

    class Options(BaseModel):
        model_config = ConfigDict(extra="forbid")
        limit: float = float("inf")
        table: dict[str, list[float]] = {}

    assert checked_options(Options, {}, "agent 'x'").model_dump()["limit"] == float("inf")
    with pytest.raises(UsageError, match=r"agent 'x': option 'limit' holds nan; give a finite number"):
        checked_options(Options, {"limit": "NaN"}, "agent 'x'")
    with pytest.raises(UsageError, match="'table' holds -inf"):
        checked_options(Options, {"table": {"a": [1.0, float("-inf")]}}, "agent 'x'")
