"""Everything that is known of a run, gathered once for tables, figures and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rbench.design import Dimension
from rbench.interfaces.metric import Convention
from rbench.plugins.catalog import Catalog
from rbench.reporting.level_kinds import Levels, levels_of
from rbench.reporting.run_labels import run_labels
from rbench.reporting.summary import summarise
from rbench.reporting.tallies import Tallies
from rbench.results.manifest import Manifest
from rbench.results.run_directory import RunDirectory


@dataclass(frozen=True)
class RunReport:
    """A run in a report.

    Attributes:
        label: short, and different for every run of the report.
        summary: `rbench.reporting.summary.summarise`, the JSON report of the run.
        tallies: counts of the same episodes.
    """

    label: str
    run: RunDirectory
    summary: Mapping[str, Any]
    tallies: Tallies

    @property
    def manifest(self) -> Manifest:
        return self.run.manifest

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions of one factor that were planned or run."""
        rows = self.summary["dimensions"]
        return tuple(d for d in self.manifest.design.dimensions if not d.is_grid and _used(rows.get(d.name, {})))

    @property
    def grids(self) -> tuple[Dimension, ...]:
        """Grids of two factors that have an episode."""
        return tuple(
            d for d in self.manifest.design.dimensions if len(d.factors) == 2 and self.tallies.dimensions[d.name].cells
        )

    def levels(self, factor: str, dimension: Dimension) -> Levels:
        """The levels of a factor of a dimension."""
        return levels_of(dimension.levels[factor], self.tallies.values.get(factor, {}))


def gather(
    runs: Sequence[RunDirectory], catalog: Catalog, convention: Convention = "default", metrics: Sequence[str] = ()
) -> list[RunReport]:
    """Summarise and count runs, in the order given; with these metrics besides those of their suites.

    Raises:
        StartError: the records of one cannot be read.
    """
    tallies = [Tallies.of(run.manifest.design) for run in runs]
    summaries = [
        summarise(run, catalog, convention, metrics, (counted.add,)) for run, counted in zip(runs, tallies, strict=True)
    ]
    return [RunReport(*parts) for parts in zip(run_labels(summaries), runs, summaries, tallies, strict=True)]


def _used(row: Mapping[str, Any]) -> bool:
    return bool(row.get("planned") or row.get("episodes"))
