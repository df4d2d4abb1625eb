"""Check a raw data set of `rbench collect` against its run, and execute its actions again.

    python benchmarks/demonstrations.py DIR

Every array must be equal to what the run recorded, and every picture to one that is drawn anew (of every tenth frame).
Then the actions are executed as an agent's, float32 and through the limits of the controller, and judged.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from rbench.action import JointPositions
from rbench.plugins.catalog import build_catalog
from rbench.results.run_directory import RunDirectory
from rbench.running.worker import build_world
from rbench.scene import jittered
from rbench.suites.loading import load_suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.tasks.monitor import TaskMonitor


def main(root: Path) -> int:
    description = json.loads((root / "dataset.json").read_text())
    lines = [json.loads(line) for line in (root / "episodes.jsonl").read_text().splitlines()]
    suite = load_suite(build_catalog(), str(root / "collection/suite.toml"))
    manager = RecursiveVariantTaskManager(suite)
    store = RunDirectory.open(root / "collection/run").store(readonly=True)
    world = build_world(suite)
    different = pictures = redrawn = succeeded = 0
    for line in lines:
        folder = root / line["folder"]
        record, trajectory = store.record(line["episode"]), store.trajectory(line["episode"])
        executed = np.load(folder / "executed.npy")
        different += not np.array_equal(executed, trajectory.commands)
        for name in ("joint_positions", "joint_velocities", "gripper", "end_effector"):
            different += not np.array_equal(np.load(folder / f"{name}.npy"), getattr(trajectory, name)[:-1])
        setup = jittered(manager.setup(manager.instance(record.instance)), dict(record.jitter))
        world.reset(setup, control_rate=description["rate"], cameras={})
        for tick, _ in enumerate(world.replay(executed)):
            if (tick + 1) % 10 or tick + 1 == len(executed):
                continue
            for camera in description["cameras"]:
                picture = np.load(folder / f"pictures.{camera}.npy", mmap_mode="r")[tick + 1]
                pictures += 1
                redrawn += np.array_equal(world.render(camera, *picture.shape[:2]), picture)
        monitor = TaskMonitor(suite.task(record.task))
        world.reset(setup, control_rate=description["rate"], cameras={})
        for tick in world.execute(JointPositions(executed.astype(np.float32).astype(np.float64))):
            monitor.update(tick.state)
        succeeded += monitor.succeeded
    print(f"{len(lines)} demonstrations: {different} arrays differ; {redrawn} of {pictures} pictures come out equal")
    print(f"actions executed again: {succeeded} of {len(lines)} succeed")
    world.close()
    return 0 if not different and redrawn == pictures and succeeded >= 0.95 * len(lines) else 1


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
