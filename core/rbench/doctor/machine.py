"""Checks of the machine: Python, cores, memory, threads, and the folder that runs are written to."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from rbench.doctor.check import Check, Status
from rbench.results.provenance import host

#: What one worker with a renderer holds in memory, measured, with room for an agent's own.
WORKER_BYTES = 500e6
#: A full roboview-bias run takes a few hundred megabytes.
ROOMY_BYTES, LEAST_BYTES = 1e9, 50e6


def check_python() -> Check:
    """Python and the platform; Linux is what rbench is tested on."""
    detail = f"{host()['python']} on {platform.platform()}"
    if platform.system() == "Linux":
        return Check("python", "ok", detail)
    return Check(
        "python", "warning", f"{detail}; rbench is tested on Linux only", "on trouble, use Linux or a Linux container"
    )


def check_cores() -> Check:
    """Usable cores, and whether memory suffices for a worker on each."""
    cores = int(host()["cores"] or 1)
    total, free = _memory()
    if total is None or free is None:
        return Check("cores", "ok", f"{cores} usable; memory not known on this system")
    detail = f"{cores} usable, memory {total / 1e9:.1f} GB, {free / 1e9:.1f} GB of it free"
    workers = max(1, int(free / WORKER_BYTES))
    if workers < cores:
        return Check(
            "cores",
            "warning",
            f"{detail}: too little for a worker a core ({WORKER_BYTES / 1e6:.0f} MB each)",
            f"rbench run ... --workers {workers}",
        )
    return Check("cores", "ok", detail)


def check_threads(environ: Mapping[str, str]) -> Check:
    """How many threads numerical libraries and software OpenGL may start in each worker."""
    cores = int(host()["cores"] or 1)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LP_NUM_THREADS")
    given = ", ".join(f"{name}={environ[name]}" for name in names if name in environ)
    detail = given or "none is set, so each worker computes and draws in one thread"
    drawing = environ.get("LP_NUM_THREADS", "0").strip()
    if drawing.isdigit() and int(drawing) > 1 and cores > 1:
        return Check(
            "threads",
            "warning",
            f"{detail}: software OpenGL would take {drawing} threads in every worker, slower than one worker a core",
            "unset LP_NUM_THREADS",
        )
    return Check("threads", "ok", detail)


def check_folder(folder: Path) -> Check:
    """Whether a run can be written to a folder: a SQLite transaction in it, as every episode makes one."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="rbench-doctor-", dir=folder) as inside,
            closing(sqlite3.connect(Path(inside) / "try.sqlite")) as connection,
            connection,
        ):
            connection.execute("CREATE TABLE try (number INTEGER)")
            connection.execute("INSERT INTO try VALUES (1)")
    except (OSError, sqlite3.Error) as problem:
        reason = getattr(problem, "strerror", None) or problem
        return Check(
            "folder",
            "problem",
            f"{folder}: a run cannot be written here ({reason})",
            "cd to a folder of yours on a local disk, or give `rbench run` one with --out",
        )
    return Check("folder", "ok", f"{folder} can be written to")


def check_disk(folder: Path) -> Check:
    """Free space where runs are written."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as problem:
        return Check("disk", "problem", f"{folder}: {problem.strerror}", "cd to a folder that exists")
    detail = f"{free / 1e9:.1f} GB free at {folder}"
    if free >= ROOMY_BYTES:
        return Check("disk", "ok", detail)
    status: Status = "warning" if free >= LEAST_BYTES else "problem"
    return Check("disk", status, detail, "free some space, or give `rbench run` a folder on another disk with --out")


def _memory() -> tuple[float | None, float | None]:
    """Bytes of memory in all and free for new processes; the container's limit counts."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        total, free = kilobytes["MemTotal"] * 1024.0, kilobytes["MemAvailable"] * 1024.0
    except (OSError, ValueError, KeyError, IndexError):
        return _physical_memory(), None
    limit = _container_limit()
    return (min(total, limit), min(free, limit)) if limit is not None else (total, free)


def _container_limit() -> float | None:
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            return float(Path(file).read_text())
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return None


def _physical_memory() -> float | None:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None
