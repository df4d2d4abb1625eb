"""Two runs against each other, as plain data: what `rbench compare --json` prints.

Core pairs the episodes and refuses runs that cannot be paired; the metrics of the suite compare.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Set
from dataclasses import replace
from typing import Any

from rbench.design import Design, Dimension
from rbench.errors import RbenchError, StartError, UsageError, one_line
from rbench.interfaces.metric import ComparisonResult
from rbench.plugins.catalog import Catalog
from rbench.plugins.staying import without_exit
from rbench.record import EpisodeRecord
from rbench.results.manifest import Manifest
from rbench.results.run_directory import RunDirectory
from rbench.results.store import EpisodeStore
from rbench.values import to_plain

_log = logging.getLogger("rbench.reporting")


def compare_runs(first: RunDirectory, second: RunDirectory, catalog: Catalog, margin: float) -> dict[str, Any]:
    """Compare the second run with the first, over the episodes that both have.

    Args:
        first: an open run directory. second: another.
        catalog: where the metrics of the suite are found.
        margin: difference of success rates (0..1) that does not matter.

    Raises:
        UsageError: the runs differ in more than the agent, or have no episode in common.
        StartError: no metric of the suite can compare, or the records cannot be read.
    """
    refuse_unlike(first, second)
    with first.store(readonly=True) as a, second.store(readonly=True) as b:
        counted = a.finished(), b.finished()
        common = counted[0] & counted[1]
        if not common:
            raise UsageError(
                f"{first.path} and {second.path} have no episode in common ({len(counted[0])} and {len(counted[1])}"
                " finished); run the same dimensions and levels in both, or resume the one that is not finished"
            )
        design = common_design(first.manifest.design, second.manifest.design)
        result, problems = _compared(first.manifest, (a, b), common, design, catalog, margin)
    comparison: dict[str, Any] = to_plain(
        {
            "runs": [_identity(first), _identity(second)],
            "suite": first.manifest.suite.name,
            "suite_hash": first.manifest.suite.hash,
            "validated": first.manifest.validated,
            "render": first.manifest.render,
            "seed": first.manifest.seed,
            "seeds": design.seeds,
            "margin": margin,
            "episodes": {"first": len(counted[0]), "second": len(counted[1]), "common": len(common)},
            "dimensions": {name: row for name, row in result.dimensions.items() if row.get("episodes")},
            "overall": result.overall,
            "warnings": _warnings(first, second),
            "problems": problems,
        }
    )
    return comparison


def _warnings(first: RunDirectory, second: RunDirectory) -> list[str]:
    if first.path == second.path:
        what = f"{first.path} is compared with itself"
    elif first.path.samefile(second.path):
        what = f"{first.path} and {second.path} are one directory"
    else:
        return []
    return [f"{what}: every episode is paired with itself, and nothing is learned; name two different runs"]


def refuse_unlike(first: RunDirectory, second: RunDirectory) -> None:
    """Refuse runs whose episodes of one id are not the same scenes.

    Raises:
        UsageError: names everything in which they differ.
    """
    a, b = first.manifest, second.manifest
    facts = {
        "suite": (a.suite.name, b.suite.name),
        "suite hash": (a.suite.hash[:12], b.suite.hash[:12]),
        "render profile": (a.render, b.render),
        "seed protocol": (a.design.seeds, b.design.seeds),
        "seed": (a.seed, b.seed),
    }
    unlike = [f"{what} ({one} and {other})" for what, (one, other) in facts.items() if one != other]
    if unlike:
        raise UsageError(
            f"{first.path} and {second.path} cannot be compared episode by episode: they differ in {', '.join(unlike)};"
            " compare runs of the same suite, render profile and seed, or read their reports side by side"
        )


def common_design(first: Design, second: Design) -> Design:
    """What two designs of one suite have in common: dimensions, their levels and contexts."""
    others = {dimension.name: dimension for dimension in second.dimensions}
    shared = (_common(d, others[d.name]) for d in first.dimensions if d.name in others)
    return replace(first, dimensions=tuple(shared), planned={})


def _common(first: Dimension, second: Dimension) -> Dimension:
    return replace(
        first,
        levels={
            factor: tuple(name for name in names if name in second.levels[factor])
            for factor, names in first.levels.items()
        },
        contexts=tuple(name for name in first.contexts if name in second.contexts),
        repeats=min(first.repeats, second.repeats),
    )


def _compared(
    manifest: Manifest,
    stores: tuple[EpisodeStore, EpisodeStore],
    common: Set[str],
    design: Design,
    catalog: Catalog,
    margin: float,
) -> tuple[ComparisonResult, list[str]]:
    """What the metrics say, joined, and what went wrong with the others."""
    dimensions: dict[str, dict[str, Any]] = {}
    overall: dict[str, Any] = {}
    problems, compared = [], False
    for name in manifest.metrics:
        try:
            first, second = (_episodes(store, common) for store in stores)
            with without_exit():
                result = catalog.make("metric", name).compare(first, second, design, margin)
        except RbenchError as problem:
            problems.append(f"metric {name!r}: {problem}")
            continue
        except (Exception, SystemExit) as problem:
            # A metric is somebody's plugin; another one may still have an answer.
            _log.debug("metric %s failed", name, exc_info=True)
            problems.append(f"metric {name!r} failed with {one_line(problem)}; tell its author")
            continue
        if result is not None:
            compared = True
            for dimension, row in result.dimensions.items():
                dimensions.setdefault(dimension, {}).update(row)
            overall.update(result.overall)
    if not compared:
        why = "; ".join(problems) or f"its metrics are {', '.join(manifest.metrics) or 'none'}"
        raise StartError(
            f"suite {manifest.suite.name!r} has no metric that compares runs: {why}; install one that the suite names"
            " (rbench list-plugins --kind metric shows what is there)"
        )
    return ComparisonResult(dimensions, overall), problems


def _episodes(store: EpisodeStore, common: Set[str]) -> Iterator[EpisodeRecord]:
    return (record for record in store.records(counted_only=True) if record.episode in common)


def _identity(run: RunDirectory) -> dict[str, Any]:
    manifest = run.manifest
    return {
        "run": str(run.path),
        "agent": manifest.agent.name,
        "privileged": manifest.agent.privileged,
        "wrappers": [wrapper.name for wrapper in manifest.wrappers],
        "vision": None if manifest.vision is None else manifest.vision.name,
        "created": manifest.created,
        "state": run.state,
    }
