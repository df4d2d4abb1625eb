"""Agents whose true success rates are known, for calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtr

from rbench.design import Dimension
from rbench_metric_bias.outcomes import OutcomeTable

Array = npt.NDArray[np.float64]
CONTEXTS = 11

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


@dataclass(frozen=True)
class Jitter:
    """How the jitter of a repeat acts on an agent.

    Attributes:
        name: as printed.
        sd: of its effect, in logits.
        shared: all levels of a block have the same effect; else every episode has its own.
        deterministic: the agent succeeds exactly when its logit is above 0, and never flips a coin.
    """

    name: str
    sd: float
    shared: bool = True
    deterministic: bool = False

    def rates(self, logits: Array) -> Array:
        """True success rates over all jitters."""
        if self.deterministic:
            return np.asarray(ndtr(logits / self.sd))
        return np.asarray((expit(logits[..., None] + self.sd * _NODES) * _WEIGHTS).sum(axis=-1) / _WEIGHTS.sum())

    def effects(self, rng: np.random.Generator, contexts: int, repeats: int, cells: int) -> Array:
        """(contexts, repeats, cells) effects of the jitter in logits."""
        return self.sd * rng.normal(size=(contexts, repeats, 1 if self.shared else cells)) + np.zeros(cells)

    def outcomes(self, rng: np.random.Generator, logits: Array, effects: Array) -> npt.NDArray[np.int64]:
        """(contexts, repeats, cells) outcomes of an agent with these logits (contexts, cells)."""
        total = logits[:, None, :] + effects
        if self.deterministic:
            return (total > 0).astype(np.int64)
        return (rng.random(total.shape) < expit(total)).astype(np.int64)


JITTERS = (
    Jitter("independent repeats, 1 logit", 1.0, shared=False),
    Jitter("shared, 0 logits", 0.0),
    Jitter("shared, 1 logit", 1.0),
    Jitter("shared, 2 logits", 2.0),
    Jitter("deterministic threshold", 2.0, deterministic=True),
)


def logits(
    rng: np.random.Generator,
    levels: int,
    *,
    mean: float = 0.0,
    level_sd: float = 0.0,
    context_sd: float = 0.4,
    interaction_sd: float = 0.0,
    contexts: int = CONTEXTS,
) -> Array:
    """(contexts, levels) logits; the effects of the levels have exactly that standard deviation."""
    effect = rng.normal(size=levels)
    effect = level_sd * (effect - effect.mean()) / effect.std() if levels > 1 else np.zeros(levels)
    both = interaction_sd * rng.normal(size=(contexts, levels))
    return np.asarray(mean + context_sd * rng.normal(size=(contexts, 1)) + effect + both)


def true_square(rates: Array) -> float:
    """Squared CV that the debiased CV estimates: sum of variances over sum of squared means."""
    return float(rates.var(axis=1).sum() / (rates.mean(axis=1) ** 2).sum())


def true_correlation(rates: Array) -> float:
    """Share of the variance of outcomes between levels."""
    return float(rates.var(axis=1).sum() / (rates.mean(axis=1) * (1 - rates.mean(axis=1))).sum())


def table(outcomes: Any, sizes: Mapping[str, int] | None = None) -> OutcomeTable:
    """A dimension's table of outcomes (contexts, repeats, cells), all of them counted."""
    contexts, repeats, cells = outcomes.shape
    sizes = sizes or {"level": cells}
    names = {factor: tuple(f"{factor}{i:04d}" for i in range(size)) for factor, size in sizes.items()}
    places = tuple(f"context{i:02d}" for i in range(contexts))
    successes = np.asarray(outcomes, np.int64).swapaxes(1, 2).reshape(contexts, *sizes.values(), repeats)
    return OutcomeTable(
        dimension=Dimension("+".join(sizes), names, places, repeats),
        places=tuple(("task", place) for place in places),
        levels=names,
        episodes=np.ones_like(successes),
        successes=successes,
        scores=successes.astype(float),
        jittered=np.ones(contexts, np.bool_),
    )
