"""A Ray cluster to work on: one that is there, or one of this process on this machine.

Ray itself is imported here alone, when it is chosen.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rbench.errors import StartError, one_line
from rbench.plugins.importing import is_importable, stdout_to_stderr
from rbench.results.lock import WriterLock, is_held

ADDRESS = "RAY_ADDRESS"
#: The word of Ray for one that is started here, whatever else runs.
LOCAL = "local"

_LOCAL_SETTINGS = {
    # Ray would end a worker when memory gets short: here the system does that, as with worker processes.
    "RAY_memory_monitor_refresh_ms": "0",
    # And it would hide the GPUs from workers that reserved none.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # What dashboard and autoscaler would be told, which are not there. Together 0.4 % of a processor.
    "RAY_enable_metrics_collection": "0",
    "RAY_event_stats": "0",
    "RAY_gcs_pull_resource_loads_period_milliseconds": "10000",
    "RAY_task_events_report_interval_ms": "0",
}

#: Results are small and soon taken, so the least that Ray takes (bytes) is enough.
_OBJECT_STORE = 80 * 1024 * 1024

#: Files of a Ray of our own, and the lock that its run holds.
_FOLDER, _LOCK = "rb-ray-", "rbench.lock"

#: Seconds in which the head of a cluster must answer.
_ANSWERS_WITHIN = 10.0

#: How Ray names it when a cluster wants another token than it gets, or any.
_REFUSALS = ("AuthenticationError", "Unauthenticated", "InvalidAuthToken")

_TO_GIVE_A_TOKEN = (
    "set RAY_AUTH_MODE=token where rbench is called, with the cluster's token in RAY_AUTH_TOKEN, in the file that"
    " RAY_AUTH_TOKEN_PATH names, or in ~/.ray/auth_token"
)

#: Shares of a processor are counted in these.
_FINEST_SHARE = 1e-4


def check_ray() -> None:
    """Refuse to go on without Ray, before anything else is done.

    Raises:
        StartError: it is not installed, or the address is one that rbench cannot work through.
    """
    if not is_importable("ray"):
        raise StartError(
            "executor 'ray' needs Ray, which the extra rbench[ray] names: python3 -m pip install 'ray>=2.40'."
            " On one machine --executor processes does the same without it"
        )
    if "://" in (address := os.environ.get(ADDRESS, "")):
        raise StartError(
            f"{ADDRESS}={_on_one_line(address)}: rbench has to run on a machine of the cluster, not as a client from"
            f" outside. Start it there, with {ADDRESS}=HOST:PORT or none"
        )


def cluster_cpus(otherwise: int) -> int:
    """The processors of the cluster that is there, at least 1; without a cluster the number given."""
    if (address := address_of_cluster()) is None:
        return otherwise
    with connected(address, 0) as ray:
        return max(1, int(sum(node_cpus(ray))))


def node_cpus(ray: Any) -> list[float]:
    """Processors of every living node that has any."""
    cpus = [float(node["Resources"].get("CPU", 0.0)) for node in ray.nodes() if node["Alive"]]
    return [number for number in cpus if number > 0]


def share_of_slot(cpus: list[float], slots: int) -> float:
    """How much of a processor each of the slots may reserve so that all of them find room; at most 1.

    Args:
        cpus: processors of each node. An agent that waits for a network leaves its processor idle, so there may be more
            slots than processors.
    """
    if sum(int(number) for number in cpus) >= slots or not cpus:
        return 1.0
    low, high = 0.0, 1.0
    while high - low > _FINEST_SHARE / 2:
        middle = (low + high) / 2
        low, high = (middle, high) if sum(int(number / middle) for number in cpus) >= slots else (low, middle)
    return max(_FINEST_SHARE, int(low / _FINEST_SHARE) * _FINEST_SHARE)


def address_of_cluster() -> str | None:
    """Where a cluster is: what the user says, or what the last `ray start` on this machine left; None: nowhere."""
    said = os.environ.get(ADDRESS, "").strip()
    if said:
        return None if said == LOCAL else said
    places = (os.environ.get("RAY_TMPDIR"), os.environ.get("TMPDIR"), "/tmp")
    note = Path(next(place for place in places if place), "ray", "ray_current_cluster")
    try:
        noted = note.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return noted if noted and _silence(noted) is None else None  # one that was killed leaves its note behind


def _silence(address: str) -> str | None:
    """Why nothing answers at HOST:PORT, or None when something does. Ray itself would ask for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS_WITHIN).close()
    except ValueError:
        return "it is not of the form HOST:PORT"
    except (OSError, OverflowError) as problem:
        return one_line(problem)
    return None


@contextlib.contextmanager
def connected(address: str | None, slots: int) -> Iterator[Any]:
    """The module `ray`, connected to the cluster at an address; to one that is made here and ended afterwards if None.

    A script that is connected itself stays so.

    Args:
        slots: how many the cluster must have room for, if it is made here.

    Raises:
        StartError: there is no such cluster, or none can be made.
    """
    with contextlib.ExitStack() as undo:
        if address is None:
            undo.enter_context(_environment({"RAY_AUTH_TOKEN": _token(), **_LOCAL_SETTINGS}))
        undo.enter_context(_environment({"RAY_USAGE_STATS_ENABLED": "0"}))
        ray = importlib.import_module("ray")
        if not ray.is_initialized():
            options = {"address": address} if address is not None else undo.enter_context(_local_options(slots))
            undo.callback(ray.shutdown)
            if address is not None and (reason := _silence(address)) is not None:
                raise _no_cluster(address, reason)
            try:
                with _signal_handlers_kept(), stdout_to_stderr():
                    ray.init(**options, namespace="rbench", log_to_driver=True, logging_level="error")
            except Exception as problem:
                raise _not_connected(address, one_line(problem)) from problem
        yield ray


def _no_cluster(address: str, reason: str) -> StartError:
    return StartError(
        f"no Ray cluster answers at {_named(address)}: {reason}. Start it, name another with"
        f" {ADDRESS}=HOST:PORT, or set {ADDRESS}={LOCAL} for one of this machine alone"
    )


def _not_connected(address: str | None, reason: str) -> StartError:
    """Ray could not be started here, or did not get into a cluster although its port is open."""
    if address is None:
        return StartError(f"Ray cannot be started on this machine: {reason}; use --executor processes")
    if any(word in reason for word in _REFUSALS):
        return StartError(
            f"the Ray cluster at {_named(address)} asks for a token, and it got none or another: {_TO_GIVE_A_TOKEN}"
        )
    # Ray writes to its log that it was refused; what it raises is the same as for a port of another program.
    return StartError(
        f"something answers at {_named(address)}, but Ray cannot connect to it: {reason}. If the cluster asks for a"
        f" token (Ray's output then has InvalidAuthToken), {_TO_GIVE_A_TOKEN}; if it is no Ray cluster, or one of"
        f" another version of Ray, name another with {ADDRESS}=HOST:PORT, or set {ADDRESS}={LOCAL} for one of this"
        " machine alone"
    )


def _named(address: str) -> str:
    origin = f"{ADDRESS} names it" if os.environ.get(ADDRESS) else "the last `ray start` here left this address"
    return f"{_on_one_line(address)} ({origin})"


def _on_one_line(address: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in address)


@contextlib.contextmanager
def _local_options(slots: int) -> Iterator[dict[str, Any]]:
    """How to start a Ray of our own: heard by this machine only, its files gone with it."""
    # A short name: Ray puts sockets below it, whose paths may have 107 characters.
    parent = Path(tempfile.gettempdir() if len(tempfile.gettempdir()) < 40 else "/tmp")
    _clear(parent)
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER, dir=parent))
    lock = WriterLock(folder / _LOCK)
    lock.acquire()
    constants: Any = importlib.import_module("ray._private.ray_constants")
    before = constants.ENABLE_RAY_CLUSTER
    # It listens on every interface unless it takes this machine for one that cannot be part of a cluster.
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield {
            "address": LOCAL,
            "num_cpus": slots,
            "include_dashboard": False,
            "object_store_memory": _OBJECT_STORE,
            "_temp_dir": str(folder),
        }
    finally:
        constants.ENABLE_RAY_CLUSTER = before
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _clear(parent: Path) -> None:
    """Remove what runs left that were killed."""
    for folder in parent.glob(f"{_FOLDER}*"):
        if (folder / _LOCK).exists() and is_held(folder / _LOCK) is False:
            shutil.rmtree(folder, ignore_errors=True)


@cache
def _token() -> str:
    """What tells this process and those it starts from others. Left to itself, Ray writes one to the user's home."""
    return secrets.token_hex(32)


@contextlib.contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Environment variables that the user did not set, for a while."""
    added = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextlib.contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """Ray turns SIGTERM into the end of the interpreter; here it ends the run, resumably."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            with contextlib.suppress(ValueError):  # not in the main thread: nothing was changed
                signal.signal(number, handler)
