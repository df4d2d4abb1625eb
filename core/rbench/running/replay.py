"""Replay: the recorded actions of an episode again, compared with the record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbench.errors import UsageError
from rbench.observation import CameraRequest
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord, Trajectory
from rbench.results.run_directory import RunDirectory
from rbench.running.episode import hash_frame
from rbench.running.jitter import block_jitter
from rbench.running.recorder import TrajectoryRecorder
from rbench.running.worker import build_world
from rbench.scene import jittered
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.values import from_plain


@dataclass(frozen=True)
class ReplayResult:
    """What a replay found. `differences` is empty when everything was equal, byte for byte."""

    record: EpisodeRecord
    ticks: int
    frames: int
    differences: tuple[str, ...]


def replay_episode(catalog: Catalog, run: RunDirectory, episode: str) -> ReplayResult:
    """Build the episode's scene, feed its recorded commands back, and compare states and first frames.

    Raises:
        UsageError: no such episode, or the suite is not the one that was run.
    """
    with run.store(readonly=True) as store:
        record, trajectory = store.record(episode), store.trajectory(episode)
    suite = _suite_of(catalog, run)
    manager = RecursiveVariantTaskManager(suite)
    instance = manager.instance(record.instance)
    setup = jittered(manager.setup(instance), block_jitter(suite, instance, record.repeat, record.seed))
    requests = {
        name: from_plain(CameraRequest, request) for name, request in run.manifest.agent.manifest["cameras"].items()
    }
    world = build_world(suite)
    try:
        world.reset(setup, control_rate=trajectory.control_rate, cameras=requests)
        differences = []
        if world.fingerprint() != record.hashes.state:
            differences.append("initial state")
        if setup.scene.hash() != record.hashes.scene:
            differences.append("scene description")
        cameras = world.observe().cameras
        for name, expected in record.hashes.first_frame.items():
            if hash_frame(cameras[name].rgb) != expected:
                differences.append(f"first frame of {name}")
        recorder = TrajectoryRecorder(trajectory.control_rate, world.state())
        for tick in world.replay(trajectory.commands):
            recorder.add(tick)
    finally:
        world.close()
    differences += different_arrays(trajectory, recorder.trajectory())
    return ReplayResult(record, len(trajectory.commands), len(record.hashes.first_frame), tuple(differences))


def different_arrays(a: Trajectory, b: Trajectory) -> list[str]:
    """Names of the recorded quantities in which two trajectories are not equal byte for byte."""
    names = [
        name
        for name in ("time", "joint_positions", "joint_velocities", "gripper", "end_effector", "commands", "contacts")
        if not _same(getattr(a, name), getattr(b, name))
    ]
    if a.contact_pairs != b.contact_pairs:
        names.append("contact pairs")
    bodies = a.bodies.keys() | b.bodies.keys()
    names += [f"pose of {n}" for n in sorted(bodies) if not _same(a.bodies.get(n), b.bodies.get(n))]
    return names


def _same(a: object, b: object) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return False
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _suite_of(catalog: Catalog, run: RunDirectory) -> Suite:
    recorded = run.manifest.suite
    suite = load_suite(catalog, recorded.source)
    if suite.hash != recorded.hash:
        raise UsageError(
            f"run {run.path}: suite {recorded.name!r} is not the one that was run (hash {suite.hash[:12]}, recorded"
            f" {recorded.hash[:12]}); install the versions that the run's manifest.json names"
        )
    return suite
