"""What a worker process does from its start to its end. Started by `worker_process`, never by hand."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import io
import os
import signal
import socket
import sys
import threading
import traceback
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from rbench.running.executors.messages import Message, Unpacker, packed
from rbench.running.executors.shared_phase import SharedPhase

if TYPE_CHECKING:
    from rbench.running.worker import Worker

_PR_SET_PDEATHSIG = 1

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
    try:
        _handle_signals()
        _end_with(parent)
        sys.argv = ["rbench worker"]
        faulthandler.enable()
        channel = _channel()
        phase = SharedPhase(page)
        os.close(page)
        inbox: Inbox = SimpleQueue()
        threading.Thread(target=_listen, args=(channel, inbox), name="rbench-parent", daemon=True).start()
        status = _work(channel, inbox, phase)
    except _ToldToEnd:
        status = 128 + signal.SIGTERM
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


def _work(channel: socket.socket, inbox: Inbox, phase: SharedPhase) -> int:
    job = inbox.get()["job"]
    try:
        worker = _worker(job, phase)
    except Exception as problem:
        channel.sendall(packed(_failure(problem)))
        return 1
    channel.sendall(packed({"ready": os.getpid()}))
    try:
        return _episodes(worker, channel, inbox)
    finally:
        worker.close()


def _worker(job: Message, phase: SharedPhase) -> Worker:
    # Imported here: whatever is wrong with them is reported to the parent.
    from rbench.running.job import Job
    from rbench.running.worker import Worker
    from rbench.values import from_plain

    return Worker.of_job(from_plain(Job, job), phase)


def _episodes(worker: Worker, channel: socket.socket, inbox: Inbox) -> int:
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
            channel.sendall(packed(_failure(problem)))
            return 1
        answer = {"finished": finished.record.to_plain(), "provenance": to_plain(finished.provenance)}
        channel.sendall(packed(answer, finished.trajectory))
    return 0


def _failure(problem: Exception) -> Message:
    """An error that ends the run, as the parent raises it again."""
    trace = "".join(traceback.format_exception(problem))
    return {"failure": type(problem).__name__, "message": str(problem), "traceback": trace}


def _listen(channel: socket.socket, inbox: Inbox) -> None:
    """Receive in a thread of its own, so that the end of the parent is noticed while an episode runs."""
    unpacker = Unpacker()
    while True:
        try:
            data = channel.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            os._exit(1)
        for message, _ in unpacker.feed(data):
            inbox.put(message)


def _channel() -> socket.socket:
    """Keep the socket that came as stdin to ourselves: agent code finds an empty stdin, and stdout is stderr."""
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    return channel


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
