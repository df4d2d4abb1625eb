"""The serial executor: one worker in this process, episodes in plan order.

For looking into things with a debugger. What agent code prints goes to stderr, as in workers. Nothing is isolated:
an agent that ends its process ends the run, resumably, and one that hangs is waited for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator

from rbench.design import Episode
from rbench.plugins.importing import stdout_to_stderr
from rbench.running.episode import Finished
from rbench.running.executors import OnWait, unwatched
from rbench.running.job import Job
from rbench.running.surroundings import Surroundings
from rbench.running.worker import Worker
from rbench.suites.suite import Suite


def run_serial(
    job: Job, suite: Suite, episodes: Iterator[Episode], workers: int, on_wait: OnWait = unwatched
) -> Generator[Finished, None, None]:
    """Run episodes one after the other."""
    with _agent_code():
        worker = Worker.of_job(job)
    try:
        for episode in episodes:
            with _agent_code():
                finished = worker.run(episode)
            yield finished
    finally:
        with _agent_code():
            worker.close()


@contextlib.contextmanager
def _agent_code() -> Iterator[None]:
    """What it prints goes to stderr, and what it changes of this process is put back: the run goes on here."""
    surroundings = Surroundings()
    try:
        with stdout_to_stderr():
            yield
    finally:
        surroundings.restore()
