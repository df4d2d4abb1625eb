"""The serial executor: one worker in this process, episodes in plan order."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from rbench.design import Episode
from rbench.running.agents import ResolvedAgent
from rbench.running.episode import Finished
from rbench.running.worker import Worker
from rbench.suites.suite import Suite


def run_serial(suite: Suite, parts: ResolvedAgent, seed: int, episodes: Iterable[Episode]) -> Generator[Finished]:
    """Run episodes one after the other; the worker is closed however this ends."""
    worker = Worker(suite, parts, seed)
    try:
        for episode in episodes:
            yield worker.run(episode)
    finally:
        worker.close()
