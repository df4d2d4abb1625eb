"""Replay: the recorded actions of an episode again, compared with the record. Agents are never asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rbench.design import Episode
from rbench.errors import UnstableSimulation, UsageError
from rbench.interfaces.world import World
from rbench.observation import CameraRequest
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord, Trajectory
from rbench.results.provenance import versions
from rbench.results.run_directory import RunDirectory
from rbench.running.episode import hash_frame
from rbench.running.recorder import TrajectoryRecorder
from rbench.running.unplayed import unplayed_record
from rbench.running.worker import build_world
from rbench.scene import Setup, jittered
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.tasks.monitor import TaskMonitor
from rbench.values import from_plain
from rbench.world_state import WorldState

#: What of a record follows from suite and seed alone.
_DESIGNED = ("instance", "repeat", "task", "dimension", "context", "levels", "values", "jitter", "instruction")
_ARRAYS = ("time", "joint_positions", "joint_velocities", "gripper", "end_effector", "commands", "contacts")

#: Called with the world at every moment of a replay, the one at reset first.
Watcher = Callable[[World, EpisodeRecord, WorldState], None]


@dataclass(frozen=True)
class ReplayResult:
    """What a replay found.

    Attributes:
        ticks: control ticks that were fed back.
        frames: first frames that were compared.
        differences: what was not equal, byte for byte; empty when everything was.
    """

    record: EpisodeRecord
    ticks: int
    frames: int
    differences: tuple[str, ...]


def replay_episode(catalog: Catalog, run: RunDirectory, episode: str) -> ReplayResult:
    """Replay one episode (`Replayer.replay`)."""
    with Replayer(catalog, run) as replayer:
        return replayer.replay(episode)


class Replayer:
    """Replays episodes of one run, one after the other, in one world. Close it, or use it in a `with`.

    Raises:
        UsageError: the suite is not the one that was run.
    """

    def __init__(self, catalog: Catalog, run: RunDirectory) -> None:
        self.run = run
        self.suite = _suite_of(catalog, run)
        self.changes = _changes_since(run)
        self._manager = RecursiveVariantTaskManager(self.suite)
        self._store = run.store(readonly=True)
        self._world: World | None = None

    def record(self, episode: str) -> EpisodeRecord:
        """The record of an episode.

        Raises:
            UsageError: no such episode.
        """
        return self._store.record(episode)

    def replay(self, episode: str, watch: Watcher | None = None) -> ReplayResult:
        """Build the episode's scene, feed its recorded commands back, and compare all that was recorded of it.

        Compared are the scene, the initial state, the first frames, every recorded quantity of the trajectory, score,
        success and what the judge saw happen, and what of the record follows from the suite.

        Args:
            watch: called with the world at every moment; it may render, and must not change anything.

        Raises:
            UsageError: no such episode, or it has no trajectory.
        """
        record, trajectory = self._store.record(episode), self._store.trajectory(episode)
        setup, differences = self._as_designed(record)
        world = self._built_world()
        world.reset(setup, control_rate=trajectory.control_rate, cameras=self._requests())
        if world.fingerprint() != record.hashes.state:
            differences.append("initial state")
        differences += self._different_frames(world, record)
        monitor = TaskMonitor(self.suite.task(record.task))
        recorder = TrajectoryRecorder(trajectory.control_rate, world.state())
        monitor.update(world.state())
        if watch is not None:
            watch(world, record, world.state())
        try:
            for tick in world.replay(trajectory.commands):
                recorder.add(tick)
                monitor.update(tick.state)
                if watch is not None:
                    watch(world, record, tick.state)
        except UnstableSimulation:
            differences.append(f"stability: it diverged after {recorder.ticks} of {record.steps} ticks")
        differences += different_arrays(trajectory, recorder.trajectory())
        differences += _judged_differently(record, monitor)
        return ReplayResult(record, recorder.ticks, len(record.hashes.first_frame), tuple(differences))

    def close(self) -> None:
        """Close the world; doing so twice is fine."""
        self._store.close()
        if self._world is not None:
            self._world.close()
            self._world = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _built_world(self) -> World:
        if self._world is None:
            self._world = build_world(self.suite)
        return self._world

    def _requests(self) -> dict[str, CameraRequest]:
        cameras: Mapping[str, Any] = self.run.manifest.agent.manifest.get("cameras", {})
        return {name: from_plain(CameraRequest, request) for name, request in cameras.items()}

    def _as_designed(self, record: EpisodeRecord) -> tuple[Setup, list[str]]:
        """The setup of an episode, and what of its record does not follow from the suite."""
        episode = Episode(self._manager.instance(record.instance), record.repeat)
        seed = self.run.manifest.seed
        designed = unplayed_record(
            self.suite, self._manager, episode, seed, outcome=record.outcome, reason=record.reason, error=record.error
        )
        ours, theirs = designed.to_plain(), record.to_plain()
        differences = [name for name in _DESIGNED if ours[name] != theirs[name]]
        if record.seed != seed:
            differences.append("seed")
        if designed.hashes.scene != record.hashes.scene:
            differences.append("scene description")
        return jittered(self._manager.setup(episode.instance), dict(designed.jitter)), differences

    def _different_frames(self, world: World, record: EpisodeRecord) -> list[str]:
        cameras = world.observe().cameras
        differences = [
            f"first frame of {name}"
            for name, expected in record.hashes.first_frame.items()
            if name not in cameras or hash_frame(cameras[name].rgb) != expected
        ]
        recorded, here = self.run.manifest.gl.get("renderer"), (world.provenance().get("gl") or {}).get("renderer")
        if differences and recorded and here and recorded != here:
            differences[-1] += f" (rendered by {recorded}, here by {here})"
        return differences


def different_arrays(a: Trajectory, b: Trajectory) -> list[str]:
    """The recorded quantities in which two trajectories are not equal byte for byte, and from when on."""
    found = [_difference(name, getattr(a, name), getattr(b, name), a) for name in _ARRAYS]
    if a.contact_pairs != b.contact_pairs:
        found.append("contact pairs")
    bodies = a.bodies.keys() | b.bodies.keys()
    found += [_difference(f"pose of {n}", a.bodies.get(n), b.bodies.get(n), a) for n in sorted(bodies)]
    return [difference for difference in found if difference]


def _difference(name: str, a: Any, b: Any, recorded: Trajectory) -> str:
    if a is None or b is None:
        return f"{name} (only in one)"
    if a.dtype != b.dtype or a.shape[1:] != b.shape[1:]:
        return f"{name} (of another kind)"
    rows = min(len(a), len(b))
    # Bytes, not numbers: -0.0 equals 0.0 and is not the same.
    bytes_a, bytes_b = (np.ascontiguousarray(x[:rows]).reshape(rows, -1).view(np.uint8) for x in (a, b))
    unequal = np.flatnonzero((bytes_a != bytes_b).any(axis=1)) if a[:rows].size else np.array([], dtype=int)
    if unequal.size:
        row = int(unequal[0])
        gap = np.abs(a[:rows].astype(np.float64) - b[:rows].astype(np.float64)).max()
        return f"{name} (from {row / recorded.control_rate:.2f} s on, by up to {gap:.2g})"
    return f"{name} ({len(a)} rows, now {len(b)})" if len(a) != len(b) else ""


def _judged_differently(record: EpisodeRecord, monitor: TaskMonitor) -> list[str]:
    differences = []
    if monitor.score != record.score:
        differences.append(f"score ({record.score:g}, now {monitor.score:g})")
    if record.outcome in ("success", "failure") and monitor.succeeded != record.success:
        differences.append(f"success ({record.success}, now {monitor.succeeded})")
    differences += [f"event {event.name} at {event.time:g} s" for event in monitor.events if event not in record.events]
    return differences


def _changes_since(run: RunDirectory) -> tuple[str, ...]:
    """What computes is not what it was: the usual reason why a replay differs."""
    recorded = run.manifest.versions
    return tuple(
        f"{name} {recorded[name]}, here {version}"
        for name, version in versions(commits=False).items()
        if name in recorded and recorded[name].partition("+")[0] != version
    )


def _suite_of(catalog: Catalog, run: RunDirectory) -> Suite:
    recorded = run.manifest.suite
    suite = load_suite(catalog, recorded.source)
    if suite.hash != recorded.hash:
        raise UsageError(
            f"run {run.path}: suite {recorded.name!r} is not the one that was run (hash {suite.hash[:12]}, recorded"
            f" {recorded.hash[:12]}); install the versions that the run's manifest.json names"
        )
    return suite
