"""What it costs to analyse a large run: reading its records, the report, a comparison; and the memory it takes.

    python benchmarks/analysis_scale.py [repeats]     # 45 by default: 102,330 episodes

Outcomes are coin flips. The store is written in one transaction: what is measured is reading.
"""

from __future__ import annotations

import itertools
import json
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rbench.design import Context, Design, Dimension
from rbench.plugins.catalog import build_catalog
from rbench.record import EpisodeRecord, Event, Hashes
from rbench.reporting.comparison import compare_runs
from rbench.reporting.summary import summarise
from rbench.results.manifest import AgentUsed, Manifest, SuiteUsed
from rbench.results.run_directory import RunDirectory, open_run
from rbench.scene import Jitter

CONTEXTS = tuple(f"context-{i:02d}" for i in range(11))
SIZES = {"color": 141, "camera-pose": 21, "camera-euler": 9, "camera-distance": 9}


def design(repeats: int) -> Design:
    levels = {name: tuple(f"{name}-{i:03d}" for i in range(size)) for name, size in SIZES.items()}
    dimensions = [Dimension(name, {name: names}, CONTEXTS, repeats) for name, names in levels.items()]
    grid = {"camera-pose": levels["camera-pose"], "color": levels["color"][:7]}
    dimensions.append(Dimension("camera-pose+color", grid, ("base",), 2 * repeats))
    contexts = tuple(Context(name, {"position": name}) for name in (*CONTEXTS, "base"))
    planned = {d.name: d.cells * len(d.contexts) * d.repeats for d in dimensions}
    return Design("scale", tuple(dimensions), contexts, {}, planned=planned)


def records(of: Design, seed: int) -> Iterator[EpisodeRecord]:
    rng = np.random.default_rng(seed)
    hashes = Hashes("5" * 64, "6" * 64, {"front": "7" * 64})
    events = (Event(2.2, "grasped", "geometry"), Event(2.2, "subtask_reached", "grasped"))
    for dimension in of.dimensions:
        cells = itertools.product(dimension.contexts, itertools.product(*dimension.levels.values()))
        for context, levels in cells:
            instance = f"{dimension.name}/{'+'.join(levels)}/{context}"
            for repeat in range(dimension.repeats):
                success = bool(rng.random() < 0.5)
                yield EpisodeRecord(
                    episode=f"{instance}#{repeat}",
                    instance=instance,
                    repeat=repeat,
                    task="task",
                    dimension=dimension.name,
                    context=context,
                    levels=dict(zip(dimension.levels, levels, strict=True)) | {"shape": "cube", "position": "p1"},
                    values={
                        name: [hash(level) % 256, 1, 2] for name, level in zip(dimension.levels, levels, strict=True)
                    },
                    jitter={"geometry": Jitter(0.001 * repeat, 0.002, 3.5)},
                    seed=0,
                    outcome="success" if success else "failure",
                    reason="goal" if success else "time_limit",
                    success=success,
                    score=float(success),
                    steps=120,
                    sim_seconds=6.0,
                    events=events,
                    instruction="Put the geometry into the box.",
                    hashes=hashes,
                )


def write(path: Path, of: Design, seed: int) -> None:
    manifest = Manifest(
        created="2026-01-01T00:00:00+00:00", suite=SuiteUsed("scale", "0" * 64, "benchmark"), design=of,
        render="standard", agent=AgentUsed("coin", "benchmark/coin", "benchmark", "0"), seed=0,
        planned=sum(of.planned.values()), executor="serial", workers=1, versions={}, host={}, rbench="0.1.0",
        metrics=("bias",), state="finished",
    )  # fmt: skip
    RunDirectory.create(path, manifest).close()
    with sqlite3.connect(path / "episodes.sqlite") as store:
        rows = (
            (r.episode, r.instance, r.repeat, r.dimension, r.context, r.outcome, json.dumps(r.to_plain()))
            for r in records(of, seed)
        )
        store.executemany(
            "INSERT INTO episodes (episode, instance, repeat, dimension, context, outcome, record)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )


def measured(what: str, start: float, since: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    wall, cpu = time.perf_counter() - start, time.process_time() - since
    sys.stdout.write(f"{what:34} {wall:6.1f} s ({cpu:.1f} s CPU), peak {peak:.0f} MB\n")


def main() -> None:
    of = design(int(sys.argv[1]) if len(sys.argv) > 1 else 45)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("first", "second")]
        for seed, path in enumerate(paths):
            write(path, of, seed)
        sys.stdout.write(f"{sum(of.planned.values())} episodes a run\n")
        first, second = (open_run(path) for path in paths)
        catalog = build_catalog()
        measured("before", time.perf_counter(), time.process_time())
        start, since = time.perf_counter(), time.process_time()
        count = sum(1 for _ in first.episodes())
        measured(f"read {count} records", start, since)
        start, since = time.perf_counter(), time.process_time()
        summarise(first, catalog)
        measured("report", start, since)
        start, since = time.perf_counter(), time.process_time()
        compare_runs(first, second, catalog, 0.05)
        measured("comparison of two such runs", start, since)


if __name__ == "__main__":
    main()
