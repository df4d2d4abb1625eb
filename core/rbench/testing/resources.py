"""Checks of what an agent costs and leaves behind."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import tempfile
import threading
import time
import tracemalloc
import weakref
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.observation import Channel
from rbench.testing.checks import CheckFailed, CheckSkipped, check
from rbench.testing.playing import play
from rbench.testing.scenarios import baselines
from rbench.testing.subjects import AgentSubject
from rbench.testing.worlds import fake_world

#: Episodes before memory is measured, and episodes in each of the two halves in which it must not grow.
WARM_UP, HALF = 3, 4
#: Calls of `act` in those episodes.
CALLS = 3
#: Growth an episode that counts as a leak: of what Python and numpy allocate, and of the process (libraries).
PYTHON_LEAK, PROCESS_LEAK = 12_000, 3_000_000
#: Seconds that threads and child processes get to end after close().
GRACE = 1.0


@check("time-per-call")
def time_per_call(subject: AgentSubject) -> str:
    """No call of act() takes longer than the limit, the first one of an instance aside."""
    subject.require_playable()
    seconds = [s for plays in (subject.series, subject.attempts()) for s in [s for p in plays for s in p.seconds][1:]]
    if not seconds:
        raise CheckSkipped("it was not called often enough")
    slowest, limit = max(seconds), subject.expect.time_limit
    if slowest > limit:
        raise CheckFailed(
            f"a call of act() took {slowest:.2f} s (median {np.median(seconds):.2f} s), allowed are {limit:g} s",
            "make it faster, return longer chunks, or raise the limit (time_limit=..., --time-limit)",
            only_warn=subject.expect.slow == "warn",
        )
    return f"slowest {1000 * slowest:.0f} ms, median {1000 * float(np.median(seconds)):.0f} ms"


@check("memory")
def memory(subject: AgentSubject) -> str:
    """Memory does not grow from episode to episode."""
    subject.require_playable()
    world, scenario = fake_world(), baselines()[0]
    with subject.fresh() as agent:

        def episodes(count: int) -> tuple[int, int]:
            for _ in range(count):
                play(agent, world, scenario, calls=CALLS)
            gc.collect()
            return tracemalloc.get_traced_memory()[0], _process_memory()

        was_tracing = tracemalloc.is_tracing()
        if not was_tracing:
            tracemalloc.start()
        try:
            python, process = [episodes(WARM_UP)], []
            before = tracemalloc.take_snapshot()
            for _ in range(2):
                python.append(episodes(HALF))
            after = tracemalloc.take_snapshot()
        finally:
            if not was_tracing:
                tracemalloc.stop()
    process = [both[1] for both in python]
    growth = min(b[0] - a[0] for a, b in pairwise(python)) / HALF
    if growth > PYTHON_LEAK:
        raise CheckFailed(
            f"it keeps {growth / 1000:.0f} kB more after every episode{_where(before, after)}",
            "empty lists and caches in reset(), or give them a size; keep what matters in report()",
        )
    grown = min(b - a for a, b in pairwise(process)) / HALF
    if grown > PROCESS_LEAK:
        raise CheckFailed(
            f"the process keeps {grown / 1e6:.0f} MB more after every episode, in memory that Python does not count",
            "free what libraries hold (tensors with their graphs, contexts, files) in reset() and close()",
        )
    return f"{max(growth, 0.0) / 1000:.1f} kB an episode"


@check("forgets-observations")
def forgets_observations(subject: AgentSubject) -> None:
    """After reset() nothing of the last episode's pictures is held any more."""
    subject.require_playable()
    with subject.fresh() as agent:
        held: list[weakref.ref[Any]] = []

        def remembered(channel: Channel, image: npt.NDArray[Any]) -> npt.NDArray[Any]:
            held.append(weakref.ref(image))
            return image

        world = fake_world(remembered)
        play(agent, world, baselines()[0], calls=CALLS)
        old = list(held)
        if not old:
            raise CheckSkipped("it reads no picture")
        play(agent, world, baselines()[1], calls=1)
        gc.collect()
        alive = sum(reference() is not None for reference in old)
    if alive:
        raise CheckFailed(
            f"it still holds {alive} of {len(old)} pictures of an episode that is over",
            "drop the pictures of the last episode in reset(); keep numbers, or copies of what you cut out",
        )


@check("leaves-nothing-behind")
def leaves_nothing_behind(subject: AgentSubject) -> None:
    """After close() no thread, process, open file or new file is left."""
    subject.require_playable()
    with subject.fresh() as agent:  # whatever libraries start once and for all is there now
        play(agent, fake_world(), baselines()[0], calls=CALLS)
    gc.collect()
    threads, children, descriptors = set(threading.enumerate()), _children(), _descriptors()
    with _scratch_folders() as folders:
        with subject.fresh() as agent:
            play(agent, fake_world(), baselines()[0], calls=CALLS)
            agent.close()
        del agent
        gc.collect()
        files = sorted(str(path.relative_to(folder)) for folder in folders for path in folder.rglob("*"))
    left = []
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline and (set(threading.enumerate()) - threads or _children() - children):
        time.sleep(0.02)
    if more := set(threading.enumerate()) - threads:
        left.append(f"threads still run: {', '.join(sorted(thread.name for thread in more))}")
    if more_children := _children() - children:
        left.append(f"child processes still run: {', '.join(map(str, sorted(more_children)))}")
    if more_descriptors := _descriptors() - descriptors:
        left.append(f"files or sockets are still open: {', '.join(sorted(more_descriptors))}")
    if files:
        left.append(f"files were written into the working or temporary folder: {', '.join(files[:5])}")
    if left:
        raise CheckFailed(
            "; ".join(left),
            "end in close() what the constructor, reset() or act() started; results go into report(), not into files",
        )


@check("leaves-the-process-alone")
def leaves_the_process_alone(subject: AgentSubject) -> None:
    """Working directory, environment variables, signal handlers and numpy's error settings stay as they were."""
    subject.require_playable()
    world = fake_world()
    before = _process_state()
    with subject.fresh() as agent:
        play(agent, world, baselines()[0], calls=CALLS)
    after = _process_state()
    changed = [name for name in before if before[name] != after[name]]
    if changed:
        raise CheckFailed(
            f"it changed {', '.join(changed)}",
            "put back what you change (contextlib.ExitStack, numpy.errstate), or set it for a child process only",
        )


@check("quiet")
def quiet(subject: AgentSubject) -> None:
    """It prints nothing on stdout, which belongs to results."""
    for played in subject.all_played():
        if played.printed.strip():
            raise CheckFailed(
                f"it printed {played.printed.strip().splitlines()[0][:80]!r} in episode {played.scenario!r}",
                "use context.logger",
            )


CHECKS = (
    time_per_call,
    memory,
    forgets_observations,
    leaves_nothing_behind,
    leaves_the_process_alone,
    quiet,
)


def _where(before: tracemalloc.Snapshot, after: tracemalloc.Snapshot) -> str:
    """The line of code that most of the growth comes from."""
    own = str(Path(__file__).parent)
    for difference in after.compare_to(before, "lineno"):
        frame = difference.traceback[0]
        if (
            difference.size_diff > 0
            and not frame.filename.startswith((own, "<"))
            and "tracemalloc" not in frame.filename
        ):
            return f", most of it made at {frame.filename}:{frame.lineno}"
    return ""


def _process_memory() -> int:
    """Resident memory (bytes); 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _children() -> set[int]:
    """Process ids of this process' children; none where the system does not tell."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                found |= {int(word) for word in (task / "children").read_text().split()}
    return found


def _descriptors() -> set[str]:
    """What this process has open, each with its number; none where the system does not tell."""
    found = set()
    with contextlib.suppress(OSError):
        for link in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                target = str(link.readlink())
                if not target.startswith("/proc/"):
                    found.add(f"{target} ({link.name})")
    return found


@contextlib.contextmanager
def _scratch_folders() -> Iterator[tuple[Path, Path]]:
    """A new working directory and a new folder for temporary files, both empty, and gone afterwards."""
    with tempfile.TemporaryDirectory() as outer:
        work, temporary = Path(outer) / "work", Path(outer) / "tmp"
        work.mkdir()
        temporary.mkdir()
        here, kept, variable = Path.cwd(), tempfile.tempdir, os.environ.get("TMPDIR")
        os.chdir(work)
        tempfile.tempdir, os.environ["TMPDIR"] = str(temporary), str(temporary)
        try:
            yield work, temporary
        finally:
            os.chdir(here)
            tempfile.tempdir = kept
            if variable is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = variable


def _process_state() -> dict[str, Any]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    return {
        "the working directory": str(Path.cwd()),
        "environment variables": dict(os.environ),
        "signal handlers": handlers,
        "numpy's error settings": np.geterr(),
    }
