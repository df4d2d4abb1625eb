"""Run directories filled with outcomes made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rbench.design import Context, Design, Dimension
from rbench.record import EpisodeRecord, Hashes, Outcome
from rbench.results.manifest import AgentUsed, Manifest, SuiteUsed
from rbench.results.run_directory import RunDirectory
from rbench.scene import Jitter

CONTEXTS = ("position-p1", "position-p2")
DIMENSIONS = (
    Dimension("color", {"color": ("red", "blue")}, CONTEXTS, 2),
    Dimension("camera-distance", {"camera-distance": ("d0.00", "d0.05", "d0.10")}, CONTEXTS, 2),
    Dimension("camera-distance+color", {"camera-distance": ("d0.00", "d0.10"), "color": ("red", "blue")}, ("base",), 2),
)


def design_of(dimensions: Sequence[Dimension]) -> Design:
    return Design(
        suite="tiny-suite",
        dimensions=tuple(dimensions),
        contexts=tuple(Context(name, {}) for name in (*CONTEXTS, "base")),
        baselines={"color": "red", "camera-distance": "d0.00"},
        planned={d.name: d.cells * len(d.contexts) * d.repeats for d in dimensions},
    )


def record(dimension: Dimension, context: str, levels: tuple[str, ...], repeat: int, outcome: Outcome) -> EpisodeRecord:
    instance = f"{dimension.name}/{'+'.join(levels)}/{context}"
    return EpisodeRecord(
        episode=f"{instance}#{repeat}",
        instance=instance,
        repeat=repeat,
        task="task",
        dimension=dimension.name,
        context=context,
        levels=dict(zip(dimension.levels, levels, strict=True)),
        values={},
        jitter={"geometry": Jitter(x=0.001 * repeat)},
        seed=0,
        outcome=outcome,
        reason="goal",
        success=outcome == "success",
        score=1.0 if outcome == "success" else 0.5,
        steps=1,
        sim_seconds=0.1,
        events=(),
        instruction="Put it into the box.",
        hashes=Hashes("", ""),
    )


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Write a run whose episodes, in design order, have these outcomes; the rest is missing. Returns its folder."""

    def make(
        outcomes: Iterable[Outcome], name: str = "run", dimensions: Sequence[Dimension] = DIMENSIONS, **changes: Any
    ) -> Path:
        design = design_of(dimensions)
        fields: dict[str, Any] = {
            "created": "2026-02-03T04:05:06+00:00",
            "suite": SuiteUsed("tiny-suite", "a" * 64, "rbench"),
            "design": design,
            "render": "standard",
            "agent": AgentUsed("expert", "some-agents/expert", "some-agents", "0.1.0", privileged=True),
            "seed": 7,
            "planned": sum(design.planned.values()),
            "executor": "serial",
            "workers": 1,
            "versions": {},
            "host": {},
            "rbench": "0.1.0",
            "metrics": ("bias",),
            "state": "finished",
        }
        cells = (
            (dimension, context, levels, repeat)
            for dimension in dimensions
            for context in dimension.contexts
            for levels in product(*dimension.levels.values())
            for repeat in range(dimension.repeats)
        )
        with RunDirectory.create(tmp_path / name, Manifest(**(fields | changes))) as run:
            for cell, outcome in zip(cells, outcomes, strict=False):
                run.store().append(record(*cell, outcome), b"")
            return run.path

    return make
