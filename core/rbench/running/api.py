"""Running from Python: `rbench.run(...)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rbench.plugins.catalog import build_catalog
from rbench.record import EpisodeRecord
from rbench.results.run_directory import RunDirectory
from rbench.running.description import Part, RunDescription
from rbench.running.plan import Selection
from rbench.running.run import execute, prepare


def run(
    suite: str,
    agent: str,
    *,
    options: Mapping[str, Any] | None = None,
    wrappers: Sequence[tuple[str, Mapping[str, Any]]] = (),
    dimensions: Sequence[str] = (),
    instances: Sequence[str] = (),
    limit: int | None = None,
    repeats: int | None = None,
    preset: str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    on_finished: Callable[[EpisodeRecord], Any] = lambda record: None,
) -> RunDirectory:
    """Run an agent over a suite and return the run directory.

    Args:
        suite: name of a suite, or path of a suite file.
        agent: name of an agent, or `module:attribute`.
        options: the agent's options.
        wrappers: (name, options) pairs, outermost first.
        dimensions, instances, limit, repeats, preset: the part of the suite to run, as on the command line.
        seed: the run seed, >= 0.
        out: the run directory; default `rbench-runs/<date>-<suite>-<agent>-<4 hex>`.
        on_finished: called with each record once it is on disk.

    Raises:
        RbenchError: as the command line would say it.
    """
    description = RunDescription(
        suite=str(suite),
        agent=Part(agent, dict(options or {}), str(Path.cwd()) if ":" in agent else None),
        wrappers=tuple(Part(name, dict(given), str(Path.cwd()) if ":" in name else None) for name, given in wrappers),
        selection=Selection(
            dimensions=tuple(dimensions), instances=tuple(instances), limit=limit, repeats=repeats, preset=preset
        ),
        seed=seed,
    )
    prepared = prepare(build_catalog(), description)
    directory = RunDirectory.create(Path(out) if out is not None else None, prepared.manifest)
    with directory:
        execute(prepared, directory, on_finished)
    return directory
