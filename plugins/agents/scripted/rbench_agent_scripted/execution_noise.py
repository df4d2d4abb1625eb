"""Execution noise: what is added to joint targets so that demonstrations show how to come back."""

from __future__ import annotations

import math

import numpy as np

from rbench.geometry import Array

#: Usual size (rad) of the smooth noise, of a kick, and of the way by which the start is shifted; of the last joint,
#: which only turns the hand, more.
SMOOTH = np.array([0.02] * 6 + [0.05])
KICK = np.array([0.05] * 6 + [0.12])
START = np.array([0.03] * 7)
#: Share of episodes that have noise at all, and of those that start elsewhere; strength of an episode's noise.
NOISY, SHIFTED = 0.8, 0.5
STRENGTH = (0.3, 1.3)
#: Time (s) over which the smooth noise loses its memory; how long a kick and the shifted start last; kicks a second.
MEMORY, KICK_TIME, START_TIME, KICKS = 0.3, 0.15, 0.4, 0.3
#: What is left of it near the object and over the box.
CAREFUL = 0.3


class ExecutionNoise:
    """Offsets for joint targets, tick by tick: smooth noise, short kicks, and a shifted start.

    The numbers are those with which a small flow policy that was trained on clean labels gained most; a fifth of the
    episodes stay clean.

    Args:
        strength: factor on everything; 0: no noise, and no random number is drawn.
        rate: ticks a second.
    """

    def __init__(self, strength: float, rate: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._rate = rate
        self._tick = 0
        self._smooth = np.zeros(7)
        self._kick, self._kick_ends = np.zeros(7), 0
        self._strength, self._start = 0.0, np.zeros(7)
        if strength and rng.random() < NOISY:
            self._strength = strength * float(rng.uniform(*STRENGTH))
            shifted = rng.random() < SHIFTED
            self._start = strength * shifted * rng.uniform(-START, START)

    def offsets(self, careful: bool) -> Array:
        """What is added to a row of joint targets and the gripper (8,) in this tick; the gripper is left alone."""
        if not self._strength:
            return np.zeros(8)
        kept = math.exp(-1.0 / (MEMORY * self._rate))
        self._smooth = kept * self._smooth + math.sqrt(1.0 - kept * kept) * self._rng.standard_normal(7)
        if self._rng.random() < KICKS / self._rate:
            self._kick = self._rng.uniform(-KICK, KICK)
            self._kick_ends = self._tick + max(1, round(KICK_TIME * self._rate))
        offsets = SMOOTH * self._smooth + (self._kick if self._tick < self._kick_ends else 0.0)
        offsets = offsets * self._strength * (CAREFUL if careful else 1.0)
        if self._tick < START_TIME * self._rate:
            offsets = offsets + self._start
        self._tick += 1
        return np.append(offsets, 0.0)
