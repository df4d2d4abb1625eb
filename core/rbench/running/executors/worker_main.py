"""What a worker process does from its start to its end. Started by `worker_process`, never by hand."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from rbench.running.executors.connection import Connection, CutOff
from rbench.running.executors.messages import Message, failure
from rbench.running.executors.shared_phase import SharedPhase
from rbench.running.phases import Phase

if TYPE_CHECKING:
    from rbench.running.episode import Finished
    from rbench.running.worker import Worker

_PR_SET_PDEATHSIG = 1

#: Exit status of a worker whose agent closed its connection to the run.
CUT_OFF = 113

#: How much sooner than other processes a worker is ended when the machine has no memory left (0 to 1000).
_OUT_OF_MEMORY_SCORE = 500

Inbox = SimpleQueue[Message]


class _ToldToEnd(KeyboardInterrupt):
    """SIGTERM. Agent code is not blamed for it, and what agents hold is closed."""


def main(parent: int, page: int) -> NoReturn:
    """Work until the parent says that it is enough, or is gone.

    Args:
        parent: the process that is worked for.
        page: descriptor of the page to write phases to.
    """
    status = 1
    phase = None
    try:
        _handle_signals()
        _end_with(parent)
        sys.argv = ["rbench worker"]
        faulthandler.enable()
        connection = Connection()
        phase = SharedPhase(page)
        os.close(page)
        inbox: Inbox = SimpleQueue()
        listen = threading.Thread(
            target=connection.listen, args=(inbox.put, partial(_cut_off, phase)), name="rbench-run", daemon=True
        )
        listen.start()
        status = _work(connection, inbox, phase)
    except _ToldToEnd:
        status = 128 + signal.SIGTERM
    except CutOff:
        assert phase is not None
        _cut_off(phase)
    except BrokenPipeError:
        pass  # the parent is gone
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        # Agents were closed. Threads that they left behind, or a GL driver that crashes when the interpreter is
        # taken down, have no say any more.
        os._exit(status)


def _work(connection: Connection, inbox: Inbox, phase: SharedPhase) -> int:
    order = inbox.get()
    if "ray" in order:
        return _dispatch(order["ray"], connection, inbox)
    _give_way()
    if "declare" in order:
        return _declare(order["declare"], connection, phase)
    try:
        worker = _worker(order["job"], phase)
    except Exception as problem:
        connection.send(failure(problem))
        return 1
    connection.send({"ready": os.getpid()})
    try:
        return _episodes(worker, connection, inbox)
    finally:
        worker.close()


def _declare(order: Message, connection: Connection, phase: SharedPhase) -> int:
    """Make the agent once, and say what it declares."""
    sys.argv = ["rbench declare"]
    try:
        from rbench.plugins.catalog import build_catalog
        from rbench.running.declared import learn
        from rbench.running.description import RunDescription
        from rbench.running.worker import settle_gl
        from rbench.values import from_plain, to_plain

        settle_gl()
        description = from_plain(RunDescription, json.loads(order["description"]))
        answer = {"declared": to_plain(learn(build_catalog(only=order["plugins"]), description, phase))}
    except Exception as problem:
        answer = failure(problem)
    connection.send(answer)
    return 0


def _dispatch(order: Message, connection: Connection, inbox: Inbox) -> int:
    """Run the episodes of a run on a Ray cluster."""
    sys.argv = ["rbench ray"]
    try:
        importlib.import_module("rbench.running.executors.ray_dispatcher").dispatch(order, connection, inbox)
    except Exception as problem:
        connection.send(failure(problem))
        return 1
    return 0


def _worker(job: Message, phase: SharedPhase) -> Worker:
    # Imported here: whatever is wrong with them is reported to the parent.
    from rbench.running.job import Job
    from rbench.running.worker import Worker
    from rbench.values import from_plain

    return Worker.of_job(from_plain(Job, job), phase)


def _episodes(worker: Worker, connection: Connection, inbox: Inbox) -> int:
    from rbench.design import Episode
    from rbench.values import from_plain, to_plain

    while "episode" in (message := inbox.get()):
        try:
            finished = worker.run(from_plain(Episode, message["episode"]))
        except _ToldToEnd:
            raise
        except KeyboardInterrupt:  # no signal raises it here, so it is the agent's
            os._exit(128 + signal.SIGINT)
        except Exception as problem:
            connection.send(failure(problem))
            return 1
        if changed := connection.mended():
            finished = _blamed(finished, worker.runner.agent_name)
        answer = {
            "finished": finished.record.to_plain(),
            "provenance": to_plain(finished.provenance),
            "changed": changed,
        }
        connection.send(answer, finished.trajectory)
        if changed:  # who knows what else was closed: a new process takes the next one
            return 0
    return 0


def _blamed(finished: Finished, agent: str) -> Finished:
    """What fails in a process whose descriptors agent code closed is the agent's doing."""
    record = finished.record
    if record.outcome != "infrastructure_error":
        return finished
    error = f"agent {agent!r} closed file descriptors that are not its own. Then: {record.error}"
    return replace(finished, record=replace(record, outcome="agent_error", reason="agent_error", error=error))


def _cut_off(phase: SharedPhase) -> NoReturn:
    """End without a word: there is nobody to tell. The run learns the rest from phase and status."""
    phase.enter(Phase.AGENT_ACT if phase.attempts else Phase.MAKING_AGENT)
    os._exit(CUT_OFF)


def _handle_signals() -> None:
    """Ctrl-C is the parent's to act on. Handlers, not SIG_IGN: that would pass to processes that agents start."""

    def end(signum: int, frame: FrameType | None) -> NoReturn:
        signal.signal(signal.SIGTERM, nothing)
        raise _ToldToEnd

    def nothing(signum: int, frame: FrameType | None) -> None:
        pass

    signal.signal(signal.SIGINT, nothing)
    signal.signal(signal.SIGTERM, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})


def _end_with(parent: int) -> None:
    """Have the system end this process with its parent, also inside code that never returns to Python."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before
        os._exit(1)


def _give_way() -> None:
    """Have the system end this process before others, the run's above all, when memory runs out."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            score = Path("/proc/self/oom_score_adj")
            score.write_text(str(min(1000, int(score.read_text()) + _OUT_OF_MEMORY_SCORE)))
