"""Records, manifests and run directories made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbench.design import Context, Design, Dimension
from rbench.record import EpisodeRecord, Event, Hashes, Trajectory
from rbench.results.manifest import AgentUsed, Manifest, Options, PartUsed, SuiteUsed
from rbench.results.run_directory import RunDirectory
from rbench.results.store import EpisodeStore
from rbench.scene import Jitter


@pytest.fixture(scope="session")
def record() -> Callable[..., EpisodeRecord]:
    """`record(3, outcome="failure", error=...)`: the episode of repeat 3."""

    def make(repeat: int, outcome: Any = "success", dimension: str = "color", **changes: Any) -> EpisodeRecord:
        instance = f"{dimension}/red/position-p2"
        fields: dict[str, Any] = {
            "episode": f"{instance}#{repeat}",
            "instance": instance,
            "repeat": repeat,
            "task": "geometry-in-box",
            "dimension": dimension,
            "context": "position-p2",
            "levels": {"color": "red", "position": "p2"},
            "values": {"color": [255, 0, 0], "position": [0.5, 0.1]},
            "jitter": {"geometry": Jitter(0.001, -0.002, 3.5)},
            "seed": 0,
            "outcome": outcome,
            "reason": "goal" if outcome == "success" else "time_limit",
            "success": outcome == "success",
            "score": 1.0 if outcome == "success" else 0.5,
            "steps": 120,
            "sim_seconds": 6.0,
            "events": (Event(1.25, "grasped"), Event(2.5, "dropped", "geometry")),
            "instruction": "Put the geometry into the box.",
            "hashes": Hashes("5c", "57", {"front": "f1"}),
            "agent": {"calls": 3},
            "timing": {"act": 0.125},
        }
        return EpisodeRecord(**(fields | changes))

    return make


@pytest.fixture(scope="session")
def recording() -> Callable[..., bytes]:
    """`recording(60, seed=3)`: a trajectory of 60 ticks that does not compress, some pages long."""

    def make(ticks: int, seed: int = 0) -> bytes:
        numbers = np.random.default_rng(seed)
        rows = ticks + 1
        return Trajectory(
            control_rate=20,
            time=np.arange(rows) / 20,
            joint_positions=numbers.random((rows, 7), dtype=np.float32),
            joint_velocities=numbers.random((rows, 7), dtype=np.float32),
            gripper=np.zeros(rows, np.float32),
            end_effector=numbers.random((rows, 7), dtype=np.float32),
            commands=numbers.random((ticks, 8)),
            bodies={f"object-{i}": numbers.random((rows, 7), dtype=np.float32) for i in range(20)},
            contact_pairs=(),
            contacts=np.zeros((rows, 0), np.bool_),
        ).to_bytes()

    return make


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EpisodeStore]:
    with EpisodeStore.create(tmp_path / "episodes.sqlite") as store:
        yield store


@pytest.fixture(scope="session")
def manifest() -> Callable[..., Manifest]:
    def make(**changes: Any) -> Manifest:
        dimension = Dimension("color", {"color": ("red", "blue")}, ("base",), 5)
        fields: dict[str, Any] = {
            "created": "2026-02-03T04:05:06+00:00",
            "suite": SuiteUsed("tiny-suite", "a" * 64, "rbench"),
            "design": Design(
                "tiny-suite", (dimension,), (Context("base", {}),), {"color": "red"}, planned={"color": 10}
            ),
            "render": "standard",
            "agent": AgentUsed(
                "expert", "some-agents/expert", "some-agents", "0.1.0", Options({"speed": 1}, {"speed": 1.0}), True
            ),
            "seed": 7,
            "planned": 10,
            "executor": "serial",
            "workers": 1,
            "versions": {"rbench": "0.1.0"},
            "host": {"cores": 2},
            "rbench": "0.1.0",
            "wrappers": (PartUsed("sgl", "some-wrappers/sgl", "some-wrappers", "0.2.0"),),
            "metrics": ("bias",),
        }
        return Manifest(**(fields | changes))

    return make


@pytest.fixture
def run_directory(tmp_path: Path, manifest: Callable[..., Manifest]) -> Iterator[RunDirectory]:
    with RunDirectory.create(tmp_path / "run", manifest()) as run:
        yield run
