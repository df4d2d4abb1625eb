"""The learning rate of the recipe, step by step: what openpi's cosine schedule makes of its four numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class CosineSchedule:
    """Linear warm-up, then half a cosine down to the last rate.

    From 5e-5 to 2.5e-5 over 10,000 steps: RoboView-Bias A.3. The paper names no warm-up; openpi's default is taken.

    Attributes:
        warmup_steps: steps until the peak; the first rate is peak / (warmup_steps + 1).
        decay_steps: steps until the last rate, warm-up included.
    """

    warmup_steps: int = 1000
    peak: float = 5e-5
    decay_steps: int = 10_000
    last: float = 2.5e-5

    def rate(self, step: int) -> float:
        """The learning rate at a step, from 0."""
        if step < self.warmup_steps:
            first = self.peak / (self.warmup_steps + 1)
            return first + (self.peak - first) * step / self.warmup_steps
        part = min(1.0, (step - self.warmup_steps) / (self.decay_steps - self.warmup_steps))
        return self.last + (self.peak - self.last) * 0.5 * (1.0 + math.cos(math.pi * part))
