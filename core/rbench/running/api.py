"""Running from Python: `rbench.run(...)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rbench.plugins.catalog import build_catalog
from rbench.record import EpisodeRecord
from rbench.results.run_directory import RunDirectory
from rbench.running.description import Part, RunDescription
from rbench.running.executors import DEFAULT_EXECUTOR, Execution
from rbench.running.limits import Limits
from rbench.running.plan import Selection
from rbench.running.run import execute, prepare
from rbench.running.shards import Shard


def run(
    suite: str | Path,
    agent: str,
    *,
    options: Mapping[str, Any] | None = None,
    wrappers: Sequence[tuple[str, Mapping[str, Any]]] = (),
    vision: str | None = None,
    vision_options: Mapping[str, Any] | None = None,
    dimensions: Sequence[str] = (),
    instances: Sequence[str] = (),
    limit: int | None = None,
    repeats: int | None = None,
    preset: str | None = None,
    shard: str | None = None,
    seed: int = 0,
    executor: str = DEFAULT_EXECUTOR,
    workers: int | None = None,
    limits: Limits | None = None,
    out: str | Path | None = None,
    on_finished: Callable[[EpisodeRecord], Any] = lambda record: None,
) -> RunDirectory:
    """Run an agent over a suite and return the run directory.

    Workers are new interpreters, so a script may call this anywhere; it needs no `if __name__ == "__main__"`.

    Args:
        suite: name of a suite, or path of a suite file.
        agent: name of an agent, or `module:attribute`.
        options: the agent's options.
        wrappers: (name, options) pairs, outermost first.
        vision, vision_options: the vision model of the run, and its options.
        dimensions, instances, limit, repeats, preset, shard: the part of the suite to run, as on the command line.
        seed: the run seed, >= 0.
        executor, workers: where episodes run; default worker processes, one a core. They decide no record.
        limits: what a worker may take before it is ended; default 30 minutes an episode, an equal share of memory.
        out: the run directory; default `rbench-runs/<date>-<suite>-<agent>-<4 hex>`.
        on_finished: called with each record once it is on disk.

    Raises:
        RbenchError: as the command line would say it.
    """
    description = RunDescription(
        suite=str(suite),
        agent=Part.named(agent, options),
        wrappers=tuple(Part.named(name, given) for name, given in wrappers),
        vision=Part.named(vision, vision_options) if vision is not None else None,
        selection=Selection(
            dimensions=tuple(dimensions),
            instances=tuple(instances),
            limit=limit,
            repeats=repeats,
            preset=preset,
            shard=None if shard is None else Shard.parse(shard),
        ),
        seed=seed,
    )
    prepared = prepare(build_catalog(), description, Execution(executor, workers, limits or Limits()))
    directory = RunDirectory.create(Path(out) if out is not None else None, prepared.manifest)
    with directory:
        execute(prepared, directory, on_finished)
    return directory
