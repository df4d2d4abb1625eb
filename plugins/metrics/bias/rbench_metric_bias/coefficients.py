"""The paper's coefficients on tables of success rates: CV (formulas 4 and 5) and IEC (formula 6).

Rates are 0..1, NaN where a cell has no episode; coefficients are in percent, NaN where undefined.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.interfaces.metric import Convention
from rbench.rounding import half_up, half_up_percent

Array = npt.NDArray[np.float64]


def coefficient_of_variation(rates: Array, eps: float = 0.01, ddof: int = 0) -> Array:
    """CV(V | c) = SD / (mean + eps) over the last axis, in percent (RoboView-Bias, formula 4).

    Undefined (NaN) when fewer than two levels have a rate, or when the mean is zero: an agent that
    never succeeds shows neither bias nor its absence. The paper prints N/A there, and counting such
    a context as 0 cannot give the coefficients that it prints.
    """
    mean, spread, count = moments(rates, ddof)
    result: Array = np.full(mean.shape, np.nan)
    np.divide(100.0 * spread, mean + eps, out=result, where=(count >= 2) & (mean > 0))
    return result


def correlation_behind(rate: float, cv: float, repeats: int, levels: int, eps: float = 0.01) -> float:
    """Intra-class correlation that a printed success rate and CV imply, for contexts that are alike.

    For tables whose records are not at hand. 0: the CV is what coin flips give; 1: every cell always or never
    succeeds; above 1: contexts differ. Takes independent repeats.

    Args:
        rate: mean success rate, 0..1.
        cv: coefficient, percent.
        repeats: of each cell.
        levels: of the dimension.
        eps: that the coefficient was computed with.
    """
    squared = (cv / 100 * (rate + eps) / rate) ** 2 * rate / (1 - rate) * levels / (levels - 1)
    return (squared - 1 / repeats) / (1 - 1 / repeats)


@dataclass(frozen=True)
class Interaction:
    """IEC(Vi; Vj) and CV(Vi) of a grid, each averaged over the contexts in which it is defined.

    Attributes:
        iec: percent, None when no context defines it.
        cv: percent, mean over the defined rows; None when no row is defined.
        rows_left_out: rows (levels of Vj, in all contexts) whose CV is undefined.
        degenerate: some context has no bias at all to modulate (0/0), and counts as 0.
        contexts_used: contexts that define the IEC.
    """

    iec: float | None
    cv: float | None
    rows_left_out: int
    degenerate: bool
    contexts_used: int


@dataclass(frozen=True, eq=False)
class InteractionRatios:
    """Formula 6 by context: arrays (..., contexts), NaN where undefined.

    Attributes:
        iec: percent.
        cv: percent, mean over the rows that define one.
        degenerate: no bias at all to modulate (0/0), which counts as 0.
        rows_left_out: rows whose CV is undefined.
    """

    iec: Array
    cv: Array
    degenerate: npt.NDArray[np.bool_]
    rows_left_out: npt.NDArray[Any]


def interaction_ratios(rates: Array, eps: float = 0.01, ddof: int = 0) -> InteractionRatios:
    """How much the bias from Vi is changed by Vj (formula 6).

    Rows whose CV is undefined are left out, never counted as 0: one such row among three equal ones
    would turn an IEC of 0 into 70.7. Fewer than two rows: the context is undefined. All rows 0: 0/0, which is 0, no
    bias to modulate. The outer ratio has no eps, as in the formula.

    Args:
        rates: (..., contexts, levels of Vj, levels of Vi).
        eps: of the inner coefficients.
        ddof: of both standard deviations.
    """
    rows = coefficient_of_variation(rates, eps, ddof)
    mean, spread, count = moments(rows, ddof)
    defined = count >= 2
    degenerate = defined & (mean == 0)
    ratio: Array = np.full(mean.shape, np.nan)
    ratio[degenerate] = 0.0
    np.divide(100.0 * spread, mean, out=ratio, where=defined & ~degenerate)
    return InteractionRatios(ratio, np.where(count > 0, mean, np.nan), degenerate, np.isnan(rows).sum(axis=-1))


def interaction_effect(rates: Array, eps: float = 0.01, ddof: int = 0) -> Interaction:
    """IEC(Vi; Vj) and CV(Vi) of a grid, averaged over contexts.

    Args:
        rates: (contexts, levels of Vj, levels of Vi).
        eps: of the inner coefficients.
        ddof: of both standard deviations.
    """
    ratios = interaction_ratios(rates, eps, ddof)
    return Interaction(
        iec=mean_of_defined(ratios.iec),
        cv=mean_of_defined(ratios.cv),
        rows_left_out=int(ratios.rows_left_out.sum()),
        degenerate=bool(ratios.degenerate.any()),
        contexts_used=int((~np.isnan(ratios.iec)).sum()),
    )


def mean_over_contexts(percents: Array, convention: Convention) -> float | None:
    """CV_SR(V): the mean of the defined contexts (formula 5), None when there is none.

    Convention `paper`: each is rounded half up to two decimals first. That is the only reading found
    that prints the paper's 178.12 (7 successes in 495 episodes); unrounded it is 178.1266.
    """
    if convention == "default":
        return mean_of_defined(percents)
    return _mean_of_printed(half_up(float(value)) for value in percents[~np.isnan(percents)])


def mean_of_defined(values: Array) -> float | None:
    """Mean of what is not NaN, exact in its sum; None when there is nothing."""
    defined = values[~np.isnan(values)]
    return math.fsum(defined) / len(defined) if len(defined) else None


def mean_over_defined(values: Array) -> Array:
    """Mean along the last axis of what is not NaN; NaN where there is nothing."""
    mean, _, count = moments(values)
    return np.where(count > 0, mean, np.nan)


def average_rate(rates: Iterable[float | None], convention: Convention) -> float | None:
    """Mean success rate over dimensions; `paper`: of the percentages as printed, to two decimals."""
    known = [rate for rate in rates if rate is not None]
    if convention == "default" or not known:
        return math.fsum(known) / len(known) if known else None
    mean = _mean_of_printed(half_up_percent(rate) for rate in known)
    return None if mean is None else float(Decimal(repr(mean)) / 100)


def average_coefficient(percents: Iterable[float | None], convention: Convention) -> float | None:
    """Mean coefficient over dimensions: None when one of them is undefined, as in the paper's Table 1."""
    known = list(percents)
    if not known or any(value is None for value in known):
        return None
    values = [float(value) for value in known if value is not None]
    if convention == "default":
        return math.fsum(values) / len(values)
    return _mean_of_printed(half_up(value) for value in values)


def _mean_of_printed(values: Iterable[Decimal]) -> float | None:
    printed = list(values)
    return float(sum(printed, Decimal(0)) / len(printed)) if printed else None


def moments(values: Array, ddof: int = 0) -> tuple[Array, Array, npt.NDArray[Any]]:
    """Mean, standard deviation and number of what is not NaN along the last axis; 0 where there is nothing."""
    present = ~np.isnan(values)
    count = present.sum(axis=-1)
    filled = np.where(present, values, 0.0)
    mean: Array = filled.sum(axis=-1) / np.maximum(count, 1)
    squares = np.where(present, (filled - mean[..., None]) ** 2, 0.0).sum(axis=-1)
    spread = np.sqrt(squares / np.maximum(count - ddof, 1))
    # Equal values have no spread; in floating point their mean may differ from them by one bit, and
    # an IEC of 0/0 would become one of rounding errors.
    low = np.where(present, values, np.inf).min(axis=-1, initial=np.inf)
    high = np.where(present, values, -np.inf).max(axis=-1, initial=-np.inf)
    return mean, np.where(low < high, spread, 0.0), count
