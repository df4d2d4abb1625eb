"""Looking at many instances, in this process or in several."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from rbench.errors import StartError
from rbench.running.executors.messages import Message, Unpacker, packed, raise_failure
from rbench.running.worker import settle_gl
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.validation.looking import Look, Looker

#: A new interpreter with the same path: what can be imported here can be imported there.
_BOOTSTRAP = "import sys; sys.path[:] = sys.argv[1:]; from rbench.validation.looking_worker import main; main()"
#: A core each: more threads would only be in each other's way. What the user set stays.
_ONE_THREAD = {"LP_NUM_THREADS": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
#: Seconds that a worker has to end when nothing is asked of it any more.
_PATIENCE = 5.0

#: Instance id, what its cameras show, and what drew it.
Looks = tuple[str, list[Look], Mapping[str, Any]]


def look_at(suite: Suite, groups: Sequence[Sequence[str]], workers: int) -> Iterator[Looks]:
    """Look at instances, in whatever order they are done; what is seen does not depend on the number of workers.

    Args:
        groups: ids of instances; those of one group share their geometry and go to one worker.

    Raises:
        StartError: pictures cannot be drawn here, or a worker died.
    """
    if workers <= 1 or len(groups) <= 1:
        yield from _here(suite, groups)
        return
    settle_gl()  # once for all: workers inherit the choice
    with contextlib.ExitStack() as stack:
        results: SimpleQueue[Looks | Exception] = SimpleQueue()
        waiting: SimpleQueue[Sequence[str]] = SimpleQueue()
        for group in groups:
            waiting.put(group)
        for _ in range(min(workers, len(groups))):
            worker = stack.enter_context(_Worker(suite))
            threading.Thread(target=worker.serve, args=(waiting, results), daemon=True).start()
        for _ in range(sum(map(len, groups))):
            result = results.get()
            if isinstance(result, Exception):
                raise result
            yield result


def _here(suite: Suite, groups: Iterable[Sequence[str]]) -> Iterator[Looks]:
    manager, looker = RecursiveVariantTaskManager(suite), Looker(suite)
    try:
        for group in groups:
            for name in group:
                yield name, looker.look(manager.instance(name)), looker.gl
    finally:
        looker.close()


class _Worker:
    """A process that looks; in a `with`, which ends it."""

    def __init__(self, suite: Suite) -> None:
        origin, slash, _ = suite.source.partition("/")
        own = [origin] if slash and not suite.source.endswith(".toml") else []
        self._job = {
            "suite": suite.source,
            "suite_hash": suite.hash,
            "distributions": list(dict.fromkeys([*(f.distribution for f in suite.factors.values()), *own])),
        }
        self._unpacker = Unpacker()

    def __enter__(self) -> _Worker:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_ONE_THREAD | dict(os.environ),
            bufsize=0,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def serve(self, waiting: SimpleQueue[Sequence[str]], results: SimpleQueue[Looks | Exception]) -> None:
        """Let the process look at one group after another until none is left."""
        try:
            self._send({"job": self._job})
            while True:
                for name in waiting.get_nowait():
                    self._send({"instance": name})
                    results.put(self._looks(*self._answer()))
        except Empty:
            pass
        except Exception as problem:
            results.put(problem)

    def _send(self, message: Message) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(packed(message))
        except OSError:
            raise self._dead() from None

    def _answer(self) -> tuple[Message, bytes]:
        assert self._process.stdout is not None
        while True:
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                raise self._dead()
            for message, blob in self._unpacker.feed(data):
                if "failure" in message:
                    raise_failure(message)
                return message, blob

    def _dead(self) -> StartError:
        status = self._process.wait()
        return StartError(
            f"a process that looks at instances ended (exit status {status}); see what it printed, and give --workers 1"
        )

    @staticmethod
    def _looks(message: Message, blob: bytes) -> Looks:
        looks, begin = [], 0
        for part in message["looks"]:
            end = begin + part["size"]
            looks.append(Look(part["camera"], part["measures"], blob[begin:end], part["image_hash"]))
            begin = end
        return message["instance"], looks, message["gl"]
