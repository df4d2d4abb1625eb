"""The report of one run as plain data: what `rbench report --format json` prints, table and figures too.

Core knows the keys; metrics fill them. What no metric computes is null.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from rbench.design import Dimension
from rbench.errors import RbenchError, StartError, one_line
from rbench.interfaces.metric import Convention, MetricResult
from rbench.interfaces.metric_form import in_form
from rbench.plugins.catalog import Catalog
from rbench.plugins.staying import without_exit
from rbench.record import COUNTED, Outcome
from rbench.reporting.stage_table import StageTally
from rbench.reporting.walk import Rider, Walk
from rbench.results.manifest import Manifest
from rbench.results.run_directory import RunDirectory, episode_counts
from rbench.results.vision_usage import vision_usage
from rbench.running.merge import shard_line
from rbench.values import to_plain

#: Keys of a dimension's row; rates 0..1, coefficients and floors in percent, intervals [low, high] at 95 %.
ROW_KEYS = (
    "successes",
    "episodes",
    "success_rate",
    "success_rate_interval",
    "score_mean",
    "cv",
    "cv_floor",
    "cv_floor_interval",
    "p_value",
    "p_main",
    "p_adjusted",
    "cv_debiased",
    "cv_debiased_interval",
    "icc",
    "contexts_used",
    "contexts_total",
    "blocks",
    "dispersion",
    "verdict",
)

_NUMBERS = tuple(key for key in ROW_KEYS if key != "verdict")

_log = logging.getLogger("rbench.reporting")


def summarise(
    run: RunDirectory,
    catalog: Catalog,
    convention: Convention = "default",
    metrics: Sequence[str] = (),
    riders: Sequence[Rider] = (),
) -> dict[str, Any]:
    """The report of a run, also of one that is half-finished or being written.

    A metric that is not installed or fails costs its own numbers only; `problems` says which and why.

    Args:
        run: an open run directory.
        catalog: where the metrics that the suite names are found.
        convention: `paper` keeps the arithmetic of the paper a metric comes from, quirks included.
        metrics: names of metrics to compute besides those of the suite.
        riders: are given every record that the report is about, in the same reading.

    Raises:
        StartError: the records cannot be read; with riders also when a single one is damaged.
    """
    manifest = run.manifest
    with run.store(readonly=True) as store:
        stage_tally = StageTally()
        walk = Walk(store, (stage_tally.add,), tuple(riders))
        by_dimension = store.counts_by_dimension(through=walk.end)
        names = tuple(dict.fromkeys((*manifest.metrics, *metrics)))
        results, problems = _computed(names, manifest, walk, catalog, convention)
        stages: dict[str, Any] = {}
        usage: dict[str, Any] | None = None
        try:
            walk.finish()
            stages = stage_tally.table()
            usage = vision_usage(store, through=walk.end)
        except StartError as problem:  # a damaged record: the counts are still worth printing
            if riders:
                raise
            problems.append(str(problem))
    counts = episode_counts(manifest.planned, by_dimension.values())
    dimensions = {d.name: _row(d, manifest, by_dimension) for d in manifest.design.dimensions if not d.is_grid}
    grids = [_grid(d) for d in manifest.design.dimensions if d.is_grid]
    average: dict[str, Any] = {"success_rate": None, "cv": None}
    for result in results.values():
        for name, row in result.dimensions.items():
            dimensions.setdefault(name, {}).update(row)
        for table in result.interactions:
            _matching(grids, table).update(table)
        average.update(result.average)
    for name in dimensions.keys() & set(manifest.unseen):
        # Whatever its outcomes do is not the doing of a factor that the agent cannot see.
        dimensions[name]["verdict"] = "not seen"
    summary: dict[str, Any] = to_plain(
        {
            "run": str(run.path),
            "state": run.state,
            "complete": counts["missing"] == 0,
            "clean": not any(counts[o] for o in ("agent_error", "unstable", "infrastructure_error")),
            "agent": manifest.agent.name,
            "privileged": manifest.agent.privileged,
            "wrappers": [wrapper.name for wrapper in manifest.wrappers],
            "vision": None if manifest.vision is None else manifest.vision.name,
            "vision_usage": usage,
            "suite": manifest.suite.name,
            "suite_hash": manifest.suite.hash,
            "validated": manifest.validated,
            "render": manifest.render,
            "seed": manifest.seed,
            "seeds": manifest.design.seeds,
            "shard": shard_line(manifest),
            "created": manifest.created,
            "rbench": manifest.rbench,
            "convention": convention,
            "counts": counts,
            "counted_outcomes": list(COUNTED),
            "dimensions": dimensions,
            "average": average,
            "interactions": grids,
            "metrics": {name: result.extra for name, result in results.items()} | stages,
            "problems": problems,
        }
    )
    return summary


def _computed(
    names: Sequence[str], manifest: Manifest, walk: Walk, catalog: Catalog, convention: Convention
) -> tuple[dict[str, MetricResult], list[str]]:
    """The result of each metric, and what went wrong with the others."""
    results: dict[str, MetricResult] = {}
    problems = []
    for name in names:
        try:
            with without_exit():
                metric = catalog.make("metric", name)
                result = metric.compute(walk.counted(), manifest.design, convention)
                results[name] = in_form(result, manifest.design, _NUMBERS)
        except RbenchError as problem:
            problems.append(f"metric {name!r}: {problem}")
        except (Exception, SystemExit) as problem:
            # A metric is somebody's plugin: whatever it raises, the counts are still worth printing.
            _log.debug("metric %s failed", name, exc_info=True)
            problems.append(f"metric {name!r} failed with {one_line(problem)}; tell its author")
    return results, problems


def _row(dimension: Dimension, manifest: Manifest, by_dimension: Mapping[str, Mapping[Outcome, int]]) -> dict[str, Any]:
    counts = by_dimension.get(dimension.name, {})
    return {
        **dict.fromkeys(ROW_KEYS),
        "successes": counts.get("success", 0),
        "episodes": sum(counts.get(outcome, 0) for outcome in COUNTED),
        "planned": manifest.design.planned.get(dimension.name, 0),
        "contexts_total": len(dimension.contexts),
    }


def _grid(dimension: Dimension) -> dict[str, Any]:
    first, second = dimension.factors
    both_ways = (f"{first};{second}", f"{second};{first}")
    return {
        "factors": [first, second],
        "dimension": dimension.name,
        "cv": {first: None, second: None},
        "iec": dict.fromkeys(both_ways),
        "floor": dict.fromkeys(both_ways),
        "additivity_p": None,
    }


def _matching(grids: list[dict[str, Any]], table: Mapping[str, Any]) -> dict[str, Any]:
    """The grid of the same factors; one that the design does not have is added."""
    for grid in grids:
        if grid["factors"] == list(table["factors"]):
            return grid
    grids.append({})
    return grids[-1]
