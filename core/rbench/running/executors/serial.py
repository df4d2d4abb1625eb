"""The serial executor: one worker in this process, episodes in plan order.

For looking into things with a debugger. What agent code prints goes to stderr, as in workers. An agent that ends its
process ends the run, resumably.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from rbench.design import Episode
from rbench.plugins.importing import stdout_to_stderr
from rbench.running.episode import Finished
from rbench.running.job import Job
from rbench.running.worker import Worker
from rbench.suites.suite import Suite


def run_serial(job: Job, suite: Suite, episodes: Iterator[Episode], workers: int) -> Generator[Finished, None, None]:
    """Run episodes one after the other."""
    with stdout_to_stderr():
        worker = Worker.of_job(job)
    try:
        for episode in episodes:
            with stdout_to_stderr():
                finished = worker.run(episode)
            yield finished
    finally:
        with stdout_to_stderr():
            worker.close()
