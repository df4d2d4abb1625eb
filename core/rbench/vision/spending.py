"""What a run may spend on questions, and what it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class SpendingLimits(BaseModel):
    """Options of a vision model that costs something: subclass it, and the runner keeps to the limits.

    A limit is what one `rbench run` or `rbench resume` may spend on all models together; when it is reached, the run
    stops and can be resumed. Episodes that are under way then are finished, at most one a worker.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    budget_usd: float | None = Field(default=None, gt=0, description="US dollars that a run or resume may spend.")
    budget_calls: int | None = Field(default=None, gt=0, description="Questions that a run or resume may ask.")
    budget_tokens: int | None = Field(default=None, gt=0, description="Tokens, in and out, that it may use.")


@dataclass
class Spending:
    """What was spent since the start or the resume of a run."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def add(self, calls: int, tokens: int, cost: float) -> None:
        """Count what was spent in addition."""
        self.calls += calls
        self.tokens += tokens
        self.cost += cost

    def add_record(self, agent: Mapping[str, Any]) -> None:
        """Count what an episode's record says under `agent`; nothing when it says nothing."""
        used = agent.get("vision") or {}
        tokens = (used.get("tokens_in") or 0) + (used.get("tokens_out") or 0)
        self.add(used.get("calls") or 0, tokens, used.get("cost") or 0.0)

    def reached(self, limits: Iterable[SpendingLimits]) -> str | None:
        """The limit that is reached, in words, or None."""
        for limit in limits:
            for name, allowed, spent in (
                ("budget_usd", limit.budget_usd, self.cost),
                ("budget_calls", limit.budget_calls, self.calls),
                ("budget_tokens", limit.budget_tokens, self.tokens),
            ):
                if allowed is not None and spent >= allowed:
                    return (
                        f"the budget of this run is spent ({name} = {allowed:g}, used {spent:g}); what is done is kept,"
                        " and `rbench resume` goes on with as much again"
                    )
        return None
