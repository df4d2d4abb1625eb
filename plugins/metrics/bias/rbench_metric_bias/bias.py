"""The metric `bias`: success rate, bias coefficient (CV) and interaction effect coefficient (IEC)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rbench.design import Design
from rbench.interfaces.metric import Convention, Metric, MetricResult
from rbench.record import EpisodeRecord
from rbench_metric_bias.coefficients import (
    average_coefficient,
    average_rate,
    coefficient_of_variation,
    interaction_effect,
    mean_over_contexts,
    success_rates,
)
from rbench_metric_bias.intervals import pooled_rate_interval, within_cell_dispersion
from rbench_metric_bias.outcomes import OutcomeTable, tabulate


class Options(BaseModel):
    """Constants of formulas 4 to 6. The defaults are the only ones that give the paper's printed CVs."""

    model_config = ConfigDict(extra="forbid")

    eps: float = Field(0.01, ge=0, description="added to the mean success rate (0..1) below the fraction")
    ddof: Literal[0, 1] = Field(0, description="0: population standard deviation, 1: sample standard deviation")


class Bias(Metric):
    """RoboView-Bias, section 5.4, with intervals over blocks. What each key means: docs/results.md."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()

    def compute(self, episodes: Iterable[EpisodeRecord], design: Design, convention: Convention) -> MetricResult:
        tables = tabulate(episodes, design)
        singles = {name: table for name, table in tables.items() if not table.dimension.is_grid}
        rows = {name: self._row(table, design, convention) for name, table in singles.items()}
        planned = [row for name, row in rows.items() if not design.planned or design.planned.get(name, 0) > 0]
        return MetricResult(
            dimensions=rows,
            interactions=[self._grid(table, design) for table in tables.values() if table.dimension.is_grid],
            average={
                "success_rate": average_rate((row["success_rate"] for row in planned), convention),
                "cv": average_coefficient((row["cv"] for row in planned), convention),
            },
            extra={
                "eps": self.options.eps,
                "ddof": self.options.ddof,
                "context_cv": {name: self._context_cv(table) for name, table in singles.items()},
            },
        )

    def _row(self, table: OutcomeTable, design: Design, convention: Convention) -> dict[str, Any]:
        percents = self._percents(table)
        used = int((percents == percents).sum())
        return {
            **_counts(table, design),
            "cv": mean_over_contexts(percents, convention),
            "contexts_used": used,
            "contexts_total": len(table.contexts),
        }

    def _grid(self, table: OutcomeTable, design: Design) -> dict[str, Any]:
        first, second = table.dimension.factors
        rates = success_rates(table.cell_successes, table.cell_episodes)
        # Rows are the levels of the factor that modulates, columns those of the one whose bias is meant.
        effects = {
            (first, second): interaction_effect(rates.swapaxes(1, 2), self.options.eps, self.options.ddof),
            (second, first): interaction_effect(rates, self.options.eps, self.options.ddof),
        }
        names = {pair: ";".join(pair) for pair in effects}
        return {
            "factors": [first, second],
            **_counts(table, design),
            "cv": {pair[0]: effect.cv for pair, effect in effects.items()},
            "iec": {names[pair]: effect.iec for pair, effect in effects.items()},
            "rows_left_out": {names[pair]: effect.rows_left_out for pair, effect in effects.items()},
            "degenerate": {names[pair]: effect.degenerate for pair, effect in effects.items()},
            "contexts_used": {names[pair]: effect.contexts_used for pair, effect in effects.items()},
            "contexts_total": len(table.contexts),
        }

    def _percents(self, table: OutcomeTable) -> Any:
        rates = success_rates(table.cell_successes, table.cell_episodes)
        return coefficient_of_variation(rates, self.options.eps, self.options.ddof)

    def _context_cv(self, table: OutcomeTable) -> dict[str, float | None]:
        percents = self._percents(table).tolist()
        return {name: None if cv != cv else cv for name, cv in zip(table.contexts, percents, strict=True)}


def _counts(table: OutcomeTable, design: Design) -> dict[str, Any]:
    """What single dimensions and grids share: counts, rate with interval, score, blocks, dispersion."""
    episodes, successes = int(table.episodes.sum()), int(table.successes.sum())
    blocks = table.by_block(table.episodes)
    cells = table.cell_episodes.reshape(len(table.contexts), -1)
    planned = design.planned.get(table.dimension.name, 0) if design.planned else None
    interval = pooled_rate_interval(table.by_block(table.successes), blocks)
    return {
        "successes": successes,
        "episodes": episodes,
        "episodes_missing": None if planned is None else planned - episodes,
        "cells": int(cells.size),
        "cells_incomplete": int((cells < table.dimension.repeats).sum()),
        "success_rate": successes / episodes if episodes else None,
        "success_rate_interval": None if interval is None else list(interval),
        "score_mean": float(table.scores.sum()) / episodes if episodes else None,
        "blocks": int((blocks > 0).sum()),
        "dispersion": within_cell_dispersion(table.cell_successes.reshape(cells.shape), cells),
    }
