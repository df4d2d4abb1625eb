"""What it costs to keep results, to read them and to write them down for others.

    python benchmarks/store.py [--episodes 2000] [--folder FOLDER]

The folder decides which disk is measured; an append waits for it. Episodes are made up: a record as roboview-bias
makes them and a trajectory of 109 ticks that does not compress, 20 kB. The last part reads while a writer commits
without a pause.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rbench.design import Context, Design, Dimension
from rbench.record import EpisodeRecord, Event, Hashes, Trajectory
from rbench.results.export import export_csv, export_jsonl
from rbench.results.inspection import WholeEpisode, complaints, inspect_store
from rbench.results.manifest import AgentUsed, Manifest, SuiteUsed
from rbench.results.parquet import export_parquet
from rbench.results.run_directory import RunDirectory, open_run
from rbench.scene import Jitter

TICKS = 109

WRITER = """
import os, sys
from dataclasses import replace
from rbench.results.run_directory import open_run

store = open_run(sys.argv[1]).store()
model = next(store.records())
number = 0
while True:
    store.append(replace(model, episode=f"extra#{number}"), os.urandom(20_000))
    number += 1
    print(number, flush=True)
"""


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--episodes", type=int, default=2000)
    arguments.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        run = measure_appends(Path(folder) / "run", given.episodes)
        size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
        line("size of the run directory", f"{size / 1e6:.0f} MB")
        measure_reading(run, given.episodes)
        measure_exports(run, Path(folder))
        measure_reading_beside_a_writer(run)


def measure_appends(path: Path, number: int) -> Path:
    """Fill a run; an episode comes 20 ms after the one before, so that no append waits to let readers in."""
    blob = recording()
    times = []
    with RunDirectory.create(path, manifest(number)) as run:
        store = run.store()
        for count, record in enumerate(records(number)):
            if count < 200:
                time.sleep(0.02)
            begin = time.perf_counter()
            store.append(record, blob)
            times.append(time.perf_counter() - begin)
        run.update(state="finished")
    calm = sorted(times[:200])
    line("append, median", milliseconds(statistics.median(calm)))
    line("append, 99th percentile", milliseconds(calm[197]))
    line("appends back to back, with gaps for readers", f"{(number - 200) / sum(times[200:]):.0f} a second")
    return path


def measure_reading(path: Path, number: int) -> None:
    """Everything there is to read."""
    run = open_run(path)
    line("counts", timed(run.counts))
    line("all records, as values", timed(lambda: exhaust(run.episodes())))

    def plain() -> None:
        with run.store(readonly=True) as store:
            exhaust(store.plain_records())

    def inspected() -> None:
        with run.store(damaged=True) as store:
            assert not complaints(store)
            assert sum(isinstance(found, WholeEpisode) for found in inspect_store(store)) == number

    line("all records, as plain data", timed(plain))
    line("every byte looked at (verify)", timed(inspected))


def measure_exports(path: Path, folder: Path) -> None:
    """Each format, and how large its file is."""
    exports: dict[str, Callable[[RunDirectory, Path], int]] = {"jsonl": export_jsonl, "csv": export_csv}
    try:
        importlib.import_module("pyarrow.parquet")  # before the clock runs
        exports["parquet"] = export_parquet
    except ImportError:
        print("parquet: not installed")
    for form, export in exports.items():
        file = folder / f"out.{form}"
        took = timed(lambda export=export, file=file: export(open_run(path), file))  # type: ignore[misc]
        line(f"export, {form}", f"{took}, {file.stat().st_size / 1e6:.1f} MB")


def measure_reading_beside_a_writer(path: Path) -> None:
    """The worst of a few readings of all records while another process commits without a pause."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    try:
        writer.stdout.readline()
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            exhaust(open_run(path).episodes())
            times.append(time.perf_counter() - begin)
    finally:
        writer.kill()
        appended = len(writer.stdout.readlines())
        writer.wait()
    line("all records beside a writer without pause, worst", f"{max(times):.2f} s")
    line("episodes that the writer added meanwhile", f"{appended}")


def records(number: int) -> Iterator[EpisodeRecord]:
    for i in range(number):
        instance, repeat = f"color/level-{i // 5}/position-p2", i % 5
        success = i % 3 != 0
        yield EpisodeRecord(
            episode=f"{instance}#{repeat}",
            instance=instance,
            repeat=repeat,
            task="geometry-in-box",
            dimension="color",
            context="position-p2",
            levels=dict.fromkeys(("color", "camera-pose", "camera-euler", "position", "shape"), "level"),
            values={"color": [255, 0, 0], "camera-pose": None, "camera-euler": [0.0, 0.0], "shape": "cube"},
            jitter={"geometry": Jitter(0.005098195358775426, -0.005776884887423024, 11.608258700458647)},
            seed=0,
            outcome="success" if success else "failure",
            reason="goal" if success else "time_limit",
            success=success,
            score=1.0 if success else 0.5,
            steps=TICKS,
            sim_seconds=5.45,
            events=(Event(2.55, "grasped", "geometry"), Event(5.2, "subtask_reached", "in_box")),
            instruction="Put the geometry into the box.",
            hashes=Hashes("a" * 64, "b" * 64, {"front": "c" * 64}),
            agent={"calls": 1, "clipped": 0, "report": {"questions": [{"outcome": "answered"}] * 5}},
            timing={"total": 0.5, "reset": 0.1, "agent": 0.1, "render": 0.1, "world": 0.2},
        )


def recording() -> bytes:
    numbers = np.random.default_rng(0)
    rows = TICKS + 1
    return Trajectory(
        control_rate=20,
        time=np.arange(rows) / 20,
        joint_positions=numbers.random((rows, 7), dtype=np.float32),
        joint_velocities=numbers.random((rows, 7), dtype=np.float32),
        gripper=numbers.random(rows, dtype=np.float32),
        end_effector=numbers.random((rows, 7), dtype=np.float32),
        commands=numbers.random((TICKS, 8)),
        bodies={"geometry": numbers.random((rows, 7), dtype=np.float32)},
        contact_pairs=("geometry|table",),
        contacts=np.ones((rows, 1), dtype=np.bool_),
    ).to_bytes()


def manifest(number: int) -> Manifest:
    dimension = Dimension("color", {"color": ("red",)}, ("base",), 5)
    return Manifest(
        created="2026-01-01T00:00:00+00:00",
        suite=SuiteUsed("made-up", "0" * 64, "rbench"),
        design=Design("made-up", (dimension,), (Context("base", {}),), {"color": "red"}, planned={"color": number}),
        render="standard",
        agent=AgentUsed("none", "none/none", "none", "0"),
        seed=0,
        planned=number,
        executor="serial",
        workers=1,
        versions={},
        host={},
        rbench="0",
    )


def exhaust(items: Iterator[Any]) -> int:
    return sum(1 for _ in items)


def timed(call: Callable[[], Any]) -> str:
    begin = time.perf_counter()
    call()
    return f"{time.perf_counter() - begin:.2f} s"


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def line(what: str, value: str) -> None:
    print(f"{what:52} {value}", flush=True)


if __name__ == "__main__":
    main()
