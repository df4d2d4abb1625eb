from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from rbench.design import Context, Design, Dimension
from rbench.record import EpisodeRecord, Hashes
from rbench.scene import Jitter

Records = list[EpisodeRecord]


@pytest.fixture
def make_record() -> Callable[..., EpisodeRecord]:
    def make(
        dimension: str = "color",
        context: str = "base",
        repeat: int = 0,
        outcome: Any = "success",
        task: str = "task",
        score: float | None = None,
        values: dict[str, Any] | None = None,
        jitter: dict[str, Jitter] | None = None,
        **levels: str,
    ) -> EpisodeRecord:
        instance = f"{task}/{dimension}/{'+'.join(levels.values())}/{context}"
        return EpisodeRecord(
            episode=f"{instance}#{repeat}",
            instance=instance,
            repeat=repeat,
            task=task,
            dimension=dimension,
            context=context,
            levels=levels,
            values=values or {},
            jitter={"geometry": Jitter(x=0.001 * repeat)} if jitter is None else jitter,
            seed=0,
            outcome=outcome,
            reason="goal",
            success=outcome == "success",
            score=float(outcome == "success") if score is None else score,
            steps=1,
            sim_seconds=0.1,
            events=(),
            instruction="put it in the box",
            hashes=Hashes("", ""),
        )

    return make


@pytest.fixture
def study(make_record: Callable[..., EpisodeRecord]) -> Callable[..., tuple[Records, Design]]:
    """Records and design of a study given as success counts: {dimension: (contexts, levels[, levels])}."""

    def build(tables: dict[str, Any], repeats: int = 5) -> tuple[Records, Design]:
        records, dimensions, contexts = [], [], 0
        for dimension, table in tables.items():
            counts = np.asarray(table)
            contexts = max(contexts, len(counts))
            sizes = dict(zip(dimension.split("+"), counts.shape[1:], strict=True))
            levels = {factor: tuple(f"{factor[0]}{i}" for i in range(size)) for factor, size in sizes.items()}
            dimensions.append(Dimension(dimension, levels, tuple(f"k{i}" for i in range(len(counts))), repeats))
            for cell, successes in np.ndenumerate(counts):
                names = {factor: levels[factor][i] for factor, i in zip(levels, cell[1:], strict=True)}
                for repeat in range(repeats):
                    outcome = "success" if repeat < successes else "failure"
                    records.append(make_record(dimension, f"k{cell[0]}", repeat, outcome, **names))
        design = Design(
            suite="study",
            dimensions=tuple(dimensions),
            contexts=tuple(Context(f"k{i}", {}) for i in range(contexts)),
            baselines={},
            planned={d.name: d.cells * len(d.contexts) * repeats for d in dimensions},
        )
        return records, design

    return build


@pytest.fixture
def orders() -> Callable[[Sequence[EpisodeRecord]], Iterator[Records]]:
    """The same records in several orders."""

    def permute(records: Sequence[EpisodeRecord]) -> Iterator[Records]:
        yield list(reversed(records))
        for seed in range(3):
            yield [records[i] for i in np.random.default_rng(seed).permutation(len(records))]

    return permute
