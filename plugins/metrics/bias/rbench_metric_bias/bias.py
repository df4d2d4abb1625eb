"""The metric `bias`: success rate, bias coefficient (CV) and interaction effect (IEC), and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.design import Design
from rbench.interfaces.metric import ComparisonResult, Convention, Metric, MetricResult
from rbench.record import EpisodeRecord
from rbench.seeding import generator, hash64
from rbench_metric_bias.additivity import (
    additivity_of_cells,
    additivity_over_blocks,
    iec_floor,
    logit_components,
)
from rbench_metric_bias.coefficients import (
    average_coefficient,
    average_rate,
    coefficient_of_variation,
    interaction_effect,
    mean_over_contexts,
)
from rbench_metric_bias.comparison import (
    adjust,
    cv_comparison,
    mcnemar,
    mean_difference,
    paired,
    rate_comparison,
    rate_verdict,
    success_counts,
    unit_differences,
)
from rbench_metric_bias.debiased import debiased
from rbench_metric_bias.independent import beta_binomial_posterior, published_e3
from rbench_metric_bias.intervals import pooled_rate_interval, within_cell_dispersion
from rbench_metric_bias.levels import group_rates, level_rates
from rbench_metric_bias.outcomes import OutcomeTable, tabulate
from rbench_metric_bias.permutation import any_bias, main_effect
from rbench_metric_bias.retest import equal_contexts, equal_levels
from rbench_metric_bias.verdict import holm, verdict


class Options(BaseModel):
    """Constants of formulas 4 to 6, whose defaults are the only ones that give the paper's printed CVs; and effort."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    eps: float = Field(0.01, ge=0, description="added to the mean success rate (0..1) below the fraction")
    ddof: Literal[0, 1] = Field(0, description="0: population standard deviation, 1: sample standard deviation")
    permutations: int = Field(4999, ge=99, description="random permutations of each test")
    bootstrap: int = Field(499, ge=99, description="random draws from the additive fit of a grid")


class Bias(Metric):
    """RoboView-Bias, section 5.4, with statistics that respect blocks. What each key means: docs/results.md."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()

    def compute(self, episodes: Iterable[EpisodeRecord], design: Design, convention: Convention) -> MetricResult:
        analyses = {name: _Analysis(table, design, self.options) for name, table in tabulate(episodes, design).items()}
        singles = {name: found for name, found in analyses.items() if not found.table.dimension.is_grid}
        rows = {name: found.dimension_row(convention) for name, found in singles.items()}
        _judge(rows)
        planned = [row for name, row in rows.items() if not design.planned or design.planned.get(name, 0) > 0]
        return MetricResult(
            dimensions=rows,
            interactions=[found.grid_row() for found in analyses.values() if found.table.dimension.is_grid],
            average={
                "success_rate": average_rate((row["success_rate"] for row in planned), convention),
                "cv": average_coefficient((row["cv"] for row in planned), convention),
                "cv_debiased": _average_debiased([row["cv_debiased_square"] for row in planned]),
            },
            extra={
                **self.options.model_dump(),
                "context_cv": {name: found.context_cv() for name, found in singles.items()},
            },
        )

    def compare(
        self, first: Iterable[EpisodeRecord], second: Iterable[EpisodeRecord], design: Design, margin: float
    ) -> ComparisonResult:
        tables, others = tabulate(first, design), tabulate(second, design)
        independent, permutations = design.seeds == "independent", self.options.permutations
        rows, units = {}, {}
        for name in tables:
            pair = paired(tables[name], others[name])
            units[name] = unit_differences(*pair, independent)
            rng = _generator(name, "comparison")
            rows[name] = {
                **success_counts(*pair),
                **rate_comparison(mean_difference([units[name]]), margin, permutations, rng),
                **mcnemar(*pair),
            }
            if not pair[0].dimension.is_grid:
                rows[name] |= cv_comparison(*pair, self.options.eps, self.options.ddof)
        adjust(rows.values())
        singles = [units[name] for name in rows if not tables[name].dimension.is_grid]
        rng = _generator("all dimensions", "comparison")
        overall = rate_comparison(mean_difference(singles), margin, permutations, rng)
        overall["verdict"] = rate_verdict(overall, overall["p_value"])
        return ComparisonResult(rows, overall)


def _generator(dimension: str, purpose: str) -> np.random.Generator:
    """Numbers for one purpose; the same in every analysis of a dimension of this name."""
    return generator(np.random.SeedSequence(hash64("bias", dimension)), purpose)


def _judge(rows: Mapping[str, dict[str, Any]]) -> None:
    """Adjust the p-values over both tests of all dimensions together, and give each dimension its verdict."""
    tests = ("p_value", "p_main")
    adjusted = holm({(name, test): row[test] for name, row in rows.items() for test in tests})
    for name, row in rows.items():
        both = [adjusted[name, test] for test in tests]
        row["p_value_adjusted"], row["p_main_adjusted"] = both
        row["p_adjusted"] = min((p for p in both if p is not None), default=None)
        row["verdict"] = verdict(row["episodes"], row["p_adjusted"])


def _average_debiased(squares: list[float | None]) -> float | None:
    """Root of the mean squared CV; squares may be negative, which keeps their mean free of bias."""
    known = [square for square in squares if square is not None]
    if not known or len(known) < len(squares):
        return None
    return 100.0 * math.sqrt(max(0.0, math.fsum(known) / len(known)))


@dataclass(frozen=True, eq=False)
class _Analysis:
    """Everything that is said about one dimension."""

    table: OutcomeTable
    design: Design
    options: Options

    @property
    def evidence(self) -> OutcomeTable:
        """What counts as evidence: one repeat a cell when repeats are copies of one another."""
        return self.table.first_repeats() if self.table.repeats_are_copies else self.table

    @property
    def independent(self) -> bool:
        return self.design.seeds == "independent"

    def rng(self, purpose: str) -> np.random.Generator:
        return _generator(self.table.dimension.name, purpose)

    def dimension_row(self, convention: Convention) -> dict[str, Any]:
        options, evidence = self.options, self.evidence
        percents = self._percents()
        bias = any_bias(
            evidence, self.independent, options.permutations, self.rng("any bias"), options.eps, options.ddof
        )
        groups = self.design.groups.get(self.table.dimension.factors[0], {})
        return {
            **self._counts(),
            "cv": mean_over_contexts(percents, convention),
            "contexts_used": int((percents == percents).sum()),
            "contexts_total": len(self.table.contexts),
            "cv_floor": bias.floor,
            "cv_floor_interval": bias.floor_interval,
            "p_value": bias.p_value,
            "p_main": main_effect(evidence, options.permutations, self.rng("main effect")),
            **self._debiased(),
            **level_rates(evidence),
            "groups": group_rates(evidence, groups),
            "equal_contexts": equal_contexts(evidence, self.design, options.permutations, self.rng("equal contexts")),
            "equal_levels": equal_levels(evidence),
        }

    def grid_row(self) -> dict[str, Any]:
        first, second = self.table.dimension.factors
        options, evidence, rates = self.options, self.evidence, self.table.cell_rates
        # Rows are the levels of the factor that modulates, columns those of the one whose bias is meant.
        effects = {
            (first, second): interaction_effect(rates.swapaxes(1, 2), options.eps, options.ddof),
            (second, first): interaction_effect(rates, options.eps, options.ddof),
        }
        names = {pair: ";".join(pair) for pair in effects}
        rng = self.rng("additivity")
        if self.independent:
            test = additivity_of_cells(evidence, self.design.seeds, options.bootstrap, rng)
        else:
            test = additivity_over_blocks(evidence, options.permutations, rng)
        floor = iec_floor(
            evidence, self.independent, options.bootstrap, self.rng("iec floor"), options.eps, options.ddof
        )
        return {
            "factors": [first, second],
            **self._counts(),
            "cv": {pair[0]: effect.cv for pair, effect in effects.items()},
            "iec": {names[pair]: effect.iec for pair, effect in effects.items()},
            # Without any bias to modulate there is nothing to compare an IEC with.
            "floor": {names[pair]: None if e.degenerate else floor.mean[names[pair]] for pair, e in effects.items()},
            "floor_interval": {
                names[pair]: None if e.degenerate else floor.interval[names[pair]] for pair, e in effects.items()
            },
            "additivity_p": test.p_value,
            "additivity_test": test.method,
            "logit_sd": logit_components(evidence),
            "rows_left_out": {names[pair]: effect.rows_left_out for pair, effect in effects.items()},
            "degenerate": {names[pair]: effect.degenerate for pair, effect in effects.items()},
            "contexts_used": {names[pair]: effect.contexts_used for pair, effect in effects.items()},
            "contexts_total": len(self.table.contexts),
        }

    def context_cv(self) -> dict[str, float | None]:
        """CV of each context."""
        percents = self._percents().tolist()
        return {name: None if cv != cv else cv for name, cv in zip(self.table.contexts, percents, strict=True)}

    def _percents(self) -> Any:
        return coefficient_of_variation(self.table.cell_rates, self.options.eps, self.options.ddof)

    def _debiased(self) -> dict[str, Any]:
        evidence, options = self.evidence, self.options
        over_blocks = debiased(*evidence.blocks())
        found: dict[str, Any] = {
            "cv_debiased": over_blocks.cv,
            "cv_debiased_interval": over_blocks.cv_interval,
            "cv_debiased_square": over_blocks.square,
            "cv_debiased_square_interval": over_blocks.square_interval,
            "icc": over_blocks.icc,
            "independent_cells": None,
        }
        if self.independent:
            cells = (evidence.cell_successes, evidence.cell_episodes)
            e3 = published_e3(*cells, self.design.seeds)
            posterior = beta_binomial_posterior(
                *cells, self.design.seeds, self.rng("posterior"), options.eps, options.ddof
            )
            if e3 is not None:
                found |= {"cv_debiased": e3.cv, "cv_debiased_square": e3.square}
            found["independent_cells"] = {
                "cv_interval": posterior and posterior.cv,
                "cv_pooled_interval": posterior and posterior.cv_pooled,
                "icc_interval": posterior and posterior.icc,
            }
        return found

    def _counts(self) -> dict[str, Any]:
        """What single dimensions and grids share: counts, rate with interval, score, blocks, dispersion."""
        table, evidence = self.table, self.evidence
        episodes, successes = int(table.episodes.sum()), int(table.successes.sum())
        cells = table.cell_episodes.reshape(len(table.contexts), -1)
        planned = self.design.planned.get(table.dimension.name, 0) if self.design.planned else None
        blocks = evidence.by_block(evidence.episodes)
        interval = pooled_rate_interval(evidence.by_block(evidence.successes), blocks)
        return {
            "successes": successes,
            "episodes": episodes,
            "episodes_missing": None if planned is None else planned - episodes,
            "cells": int(cells.size),
            "cells_incomplete": int((cells < table.dimension.repeats).sum()),
            "success_rate": successes / episodes if episodes else None,
            "success_rate_interval": interval,
            "score_mean": float(table.scores.sum()) / episodes if episodes else None,
            "blocks": int((blocks > 0).sum()),
            "dispersion": within_cell_dispersion(table.cell_successes.reshape(cells.shape), cells),
            "repeats_are_copies": table.repeats_are_copies,
        }
