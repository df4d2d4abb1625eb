"""What the agent claims at each stage, in the form in which `rbench` compares it with the truth afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rbench.geometry import Array
from rbench_agent_moka.failures import GaveUp

#: Roles of a claim: about what is moved, or about where it goes.
OBJECT, PLACE = "object", "destination"


class Stages:
    """The stages of one episode, in order; the format is that of `rbench.running.stage_truth`."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.time = 0.0
        self._stage = ""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Claims made inside belong to the stage; giving up inside means that it failed."""
        self._stage = name
        try:
            yield
        except GaveUp as problem:
            self.entries.append({"stage": name, "time": self.time, "failed": problem.reason})
            raise

    def claim(self, role: str | None, *, named: str = "", point: Array | None = None, **more: Any) -> None:
        """Claim that something is called so, or is at that point (3,) of the robot base frame."""
        entry: dict[str, Any] = {"stage": self._stage, "time": self.time, "role": role}
        if named:
            entry["named"] = named
        if point is not None and np.isfinite(point).all():
            entry["point"] = [round(float(v), 6) for v in point]
        self.entries.append(entry | more)
