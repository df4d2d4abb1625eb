"""Collecting, from its beginning to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbench.collecting.collection import Collection, check_place, take_place
from rbench.collecting.formats.form import format_named
from rbench.collecting.gathering import Gathered, declared_for, gather, with_rate
from rbench.collecting.writing import write_dataset
from rbench.errors import UsageError, did_you_mean
from rbench.plugins.catalog import Catalog
from rbench.results.run_directory import RunDirectory
from rbench.running.executors import Execution, usable_cores
from rbench.running.run import PreparedRun, execute
from rbench.simulation.profiles import render_profile
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite


def collect(
    catalog: Catalog,
    wanted: Collection,
    path: Path,
    execution: Execution,
    accept_changes: bool = False,
    run_it: Callable[[PreparedRun, RunDirectory], None] = execute,
    on_written: Callable[[int, int], Any] = lambda done, planned: None,
) -> Gathered:
    """Collect demonstrations into a folder, or go on with what is there.

    Args:
        wanted: `suite_hash` is filled in here.
        execution, accept_changes, run_it: as in `gathering.gather`. on_written: as in `writing.write_dataset`.

    Raises:
        RbenchError: as the command line says it; after any end the same call goes on. What is refused because of
            suite, agent, options or cameras has left nothing in the folder.
    """
    suite = load_suite(catalog, wanted.suite)
    _check(suite, wanted)
    wanted = replace(wanted, suite_hash=suite.hash, agent=with_rate(catalog, wanted.agent, wanted.rate))
    format_named(wanted).check()
    place = check_place(path, wanted)
    declared = None if place.begun else declared_for(catalog, wanted, suite, execution)
    take_place(place, wanted)
    gathered = gather(catalog, wanted, place, execution, accept_changes, run_it, declared)
    write_dataset(wanted, place, gathered, _drawing_processes(execution), on_written)
    return gathered


def _drawing_processes(execution: Execution) -> int:
    """Processes of this machine that draw pictures, also when episodes run elsewhere."""
    return 1 if execution.executor == "serial" else execution.workers or usable_cores()


def _check(suite: Suite, wanted: Collection) -> None:
    """Refuse what could only fail after all episodes have run."""
    if wanted.episodes < 1:
        raise UsageError(f"{wanted.episodes} episodes are no data set; ask for at least 1")
    if not wanted.cameras:
        raise UsageError("no camera: a data set needs pictures; name a camera with --camera")
    if len(set(wanted.cameras)) < len(wanted.cameras):
        raise UsageError(f"cameras {', '.join(wanted.cameras)}: one is there twice; name each once")
    for task in suite.tasks:
        known = [camera.name for camera in suite.scenes[task.scene].cameras]
        for name in wanted.cameras:
            if name not in known:
                raise UsageError(
                    f"camera {name!r} is not in scene {task.scene!r}.{did_you_mean(name, known)} Name its cameras with"
                    " --camera"
                )
    largest = render_profile(suite.render).max_size
    if not 1 <= min(wanted.height, wanted.width) <= max(wanted.height, wanted.width) <= largest:
        raise UsageError(
            f"pictures of {wanted.height} x {wanted.width}: each side has 1 to {largest} pixels in render profile"
            f" {suite.render!r}; give another --size"
        )
    for what, value, most in (("xy", wanted.jitter_xy, 1.0), ("yaw", wanted.jitter_yaw, 180.0)):
        if value is not None and not 0.0 <= value <= most:
            raise UsageError(f"--jitter-{what} {value:g} is not between 0 and {most:g}; give one that is")
