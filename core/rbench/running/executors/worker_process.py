"""A worker process, seen from the run that started it."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rbench.design import Episode
from rbench.errors import StartError
from rbench.running.executors.guardian import Guardian
from rbench.running.executors.guardian_main import MARK, end_group, end_marked
from rbench.running.executors.messages import Message, Unpacker, packed
from rbench.running.executors.shared_phase import SharedPhase, page_descriptor
from rbench.running.executors.worker_main import CUT_OFF
from rbench.running.executors.worker_output import OUTPUT_LIMIT, OutputRelay
from rbench.running.phases import Phase
from rbench.values import to_plain

#: Exit status of a worker that was told to end.
TOLD_TO_END = 128 + signal.SIGTERM

#: Seconds that a worker has to end after it was asked, and then after SIGTERM, before SIGKILL.
PATIENCE, LAST_PATIENCE = 10.0, 2.0

#: A new interpreter, not a copy of this one: no threads, no GL state and no `__main__` of the user come along.
#: The path does, so that whatever can be imported here can be imported there.
_BOOTSTRAP = (
    "import sys; sys.path[:] = sys.argv[3:];"
    " from rbench.running.executors.worker_main import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)

#: One worker a core: more threads would only be in each other's way. What the user set stays.
_ONE_THREAD = {
    "LP_NUM_THREADS": "0",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}


@dataclass(frozen=True)
class Exceeded:
    """A limit that was passed.

    Attributes:
        reason: of the episode's record.
        limit: in the unit of the option.
        words: what was the case.
    """

    reason: str
    limit: float
    words: str


@dataclass(frozen=True)
class Ending:
    """How a process ended: by a signal, or with an exit status.

    Attributes:
        exceeded: the limit for which it was ended, or None when it ended without our doing.
        note: what is known of a signal besides.
    """

    signal: str | None
    status: int | None
    exceeded: Exceeded | None = None
    note: str = ""

    @property
    def by_request(self) -> bool:
        """Whether somebody told it to end, rather than that it fell."""
        return self.signal in ("SIGTERM", "SIGINT", "SIGHUP") or self.status == TOLD_TO_END

    def __str__(self) -> str:
        if self.exceeded is not None:
            return self.exceeded.words
        if self.status == CUT_OFF:
            return "the agent closed file descriptors that are not its own"
        if self.signal is None and self.status is None:
            return "it cannot even be killed"
        if self.signal is None:
            return f"exit status {self.status}"
        return f"signal {self.signal}, {self.note}" if self.note else f"signal {self.signal}"


#: Processes that were killed and are not gone yet, which takes seconds where there are gigabytes to free. They are
#: asked for when the next is released; somebody has to, or they would stay in the system's table.
_DYING: list[subprocess.Popen[bytes]] = []


class WorkerProcess:
    """One worker process: what it was given, what it is doing, and how it ended.

    Attributes:
        number: from 1; what it is called.
        given: the episodes it has and has not finished; the first is the one it works on.
        since: when it began with that one (`time.monotonic`), or None while it still starts.
        seconds: what the last episode took, None before there was one.
        began: when the present attempt at an episode began; while it starts, when it was started.
        entered: when the present phase began. Both are noticed by `look`, and as late as that is called.
        leaving: since when it is asked to end, or None.
        memory: what it and its descendants had for themselves (bytes) at the last look.
        settled: memory (bytes) and open files after its first episode, None before.
    """

    def __init__(
        self,
        order: Message,
        environment: Mapping[str, str],
        number: int,
        guardian: Guardian,
        name: str | None = None,
        span: str = "in one episode",
        bound: int = OUTPUT_LIMIT,
    ) -> None:
        """Start it.

        Args:
            order: the first message, which says what it is for: `job`, `declare` or `ray`.
            name, span: who prints, and what the bound of that is for, when it is no worker with episodes.
            bound: of what it prints, in bytes.
        """
        self.number = number
        self.given: deque[Episode] = deque()
        self.since: float | None = None
        self.seconds: float | None = None
        self.began = self.entered = time.monotonic()
        self.leaving: float | None = None
        self.memory = 0
        self.settled: tuple[int, int] | None = None
        self._seen = (0, 0)
        self._guardian = guardian
        self._mark = f"{guardian.mark}.{secrets.token_hex(4)}"
        self._unpacker = Unpacker()
        self._socket, theirs = socket.socketpair()
        descriptor = page_descriptor()
        output, printed = os.pipe()
        try:
            self._phase = SharedPhase(descriptor)
            with _signals_held_back():
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _BOOTSTRAP, str(os.getpid()), str(descriptor), *_path()],
                    stdin=theirs.fileno(),
                    stdout=printed,  # what agent code prints must not mix with results
                    stderr=printed,
                    env={**_ONE_THREAD, **os.environ, **environment, MARK: self._mark},
                    pass_fds=(descriptor,),
                    # A group of its own: what agents start is found, and ended, with it.
                    process_group=0,
                )
        except OSError as problem:
            self._socket.close()
            os.close(output)
            raise StartError(
                f"a worker process cannot be started: {problem}; run with fewer --workers or --executor serial"
            ) from problem
        finally:
            theirs.close()
            os.close(descriptor)
            os.close(printed)
        guardian.add(self._process.pid)
        self._output = OutputRelay(output, name or f"worker {number}", span, bound)
        self.send(order)

    @property
    def pid(self) -> int:
        """Its process id, and that of its group."""
        return self._process.pid

    @property
    def connection(self) -> socket.socket:
        """Readable when a message has come or the worker has hung up."""
        return self._socket

    @property
    def phase(self) -> Phase:
        """What it is doing, or was when it ended."""
        return self._phase.now

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def give(self, episode: Episode) -> None:
        """Hand it an episode, behind those it has."""
        if not self.given and self.since is not None:
            self.since = self.began = time.monotonic()
        self.given.append(episode)
        self.send({"episode": to_plain(episode)})

    def received(self) -> tuple[list[tuple[Message, bytes]], bool]:
        """The messages that have come, without waiting, and whether none can come any more."""
        messages: list[tuple[Message, bytes]] = []
        while True:
            try:
                data = self._socket.recv(1 << 20, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return messages, False
            except OSError:
                return messages, True
            if not data:
                return messages, True
            messages += self._unpacker.feed(data)

    def took(self) -> Episode:
        """The first of its episodes is finished; it begins with the next."""
        now = time.monotonic()
        self.seconds, self.since = now - (self.since or now), now
        self.began = now
        self._output.next_episode()
        return self.given.popleft()

    def ready(self) -> None:
        """It has started, and begins with what it was given."""
        self.since = self.began = time.monotonic()

    def look(self) -> None:
        """Notice what it has begun since the last look."""
        now = time.monotonic()
        attempts, entries = self._phase.attempts, self._phase.entries
        if attempts != self._seen[0]:
            self.began = now
        if entries != self._seen[1]:
            self.entered = now
        self._seen = (attempts, entries)

    def leave(self) -> None:
        """Ask it to close its agent and end."""
        self.leaving = time.monotonic()
        self.send({"end": True})

    def end_for(self, exceeded: Exceeded) -> Ending:
        """End it, and what it started, at once."""
        end_group(self._process.pid)
        self._reaped()
        return Ending("SIGKILL", None, exceeded)

    def ending(self) -> Ending:
        """How it ended; one that hung up without ending is killed."""
        status = self._reaped()
        if status is None:
            self._process.kill()
            status = self._reaped()
        if status is None or status >= 0:
            return Ending(None, status)
        return Ending(_signal_name(-status), None)

    def release(self) -> None:
        """Free what belonged to a process that ended, and end what agent code started and left behind."""
        end_group(self._process.pid)
        end_marked(self._mark)
        self._guardian.remove(self._process.pid)
        self._output.close()
        self._socket.close()
        self._phase.close()
        _DYING[:] = [process for process in (*_DYING, self._process) if process.poll() is None]

    def send(self, message: Message) -> None:
        """Tell it something."""
        # A worker that died shows when it is read from; there its loss is dealt with.
        with contextlib.suppress(OSError):
            self._socket.sendall(packed(message))

    def terminate(self) -> None:
        """Tell it to end."""
        if self.alive:
            self._process.terminate()

    def kill(self) -> None:
        """End it, whatever it does."""
        if self.alive:
            self._process.kill()
        self._reaped()

    def _reaped(self) -> int | None:
        """Its status once it has ended; None for one that does not, not even killed: a driver holds it."""
        try:
            return self._process.wait(LAST_PATIENCE)
        except subprocess.TimeoutExpired:
            return None


def end(workers: Iterable[WorkerProcess]) -> None:
    """Let idle workers close their agents and end; those that do not are stopped."""
    workers = list(workers)
    for worker in workers:
        worker.leave()
    _wait(workers, PATIENCE)
    stop(workers)


def stop(workers: Iterable[WorkerProcess]) -> None:
    """End workers, whatever they do: told first, so that agents can close what they hold, then killed."""
    workers = list(workers)
    try:
        for worker in workers:
            worker.terminate()
        _wait(workers, LAST_PATIENCE)
    finally:
        for worker in workers:
            worker.kill()
            worker.release()


def _wait(workers: list[WorkerProcess], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(worker.alive for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.01)


@contextlib.contextmanager
def _signals_held_back() -> Iterator[None]:
    """Start a process inside: it inherits what is held back.

    Ctrl-C in a terminal reaches all processes there; this one must not be hit before it knows what to do.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _path() -> list[str]:
    return [entry for entry in sys.path if isinstance(entry, str)]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
