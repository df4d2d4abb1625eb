"""A short probe: a few episodes, thrown away, that tell what a run would take."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from math import ceil, floor
from statistics import mean

from rbench.record import EpisodeRecord
from rbench.running.limits import MEMORY_SHARE
from rbench.running.run import PreparedRun

#: Episodes of a probe: the first also compiles its scene.
EPISODES = 3

#: Workers on one core that are suggested at most, however long they wait.
MOST_A_CORE = 16


@dataclass(frozen=True)
class Probe:
    """What a few episodes took.

    Attributes:
        starting: seconds from the start to the first episode.
        records: of the episodes, in the order they ended.
        memory: bytes that the worker has had at most, or None when that is not known.
    """

    starting: float
    records: tuple[EpisodeRecord, ...]
    memory: int | None = None

    @property
    def seconds(self) -> tuple[float, ...]:
        """Wall seconds of each episode."""
        return tuple(record.timing["total"] for record in self.records)

    def duration(self, episodes: int, workers: int) -> tuple[float, float, float]:
        """Seconds for so many episodes: the likely value, and if all were like the shortest or the longest."""
        turns = ceil(episodes / workers)
        likely = mean(self.seconds[1:] or self.seconds)
        shortest, longest = min(self.seconds), max(self.seconds)
        return self.starting + turns * likely, self.starting + turns * shortest, self.starting + turns * longest

    @property
    def waiting(self) -> float:
        """Share of the likely episode, 0 to 1, in which its process waits for something in agent code."""
        return mean(_waiting(record.timing) for record in self.records[1:] or self.records)

    def useful_workers(self, cores: int, memory: int | None) -> int:
        """How many workers keep so many cores busy, as far as so many bytes of memory last."""
        busy = floor(cores / max(1.0 - self.waiting, 1.0 / MOST_A_CORE))
        fitting = busy if memory is None or not self.memory else int(memory * MEMORY_SHARE / self.memory)
        return max(1, min(busy, fitting))

    def asked(self, what: str) -> float | None:
        """Of what vision models were asked, `calls`, `tokens_in`, `tokens_out` or `cost` (US dollars) an episode.

        None when it is not known.
        """
        values = [record.agent["vision"][what] for record in self.records if "vision" in record.agent]
        return mean(values) if values and None not in values else None


def probe(prepared: PreparedRun) -> Probe:
    """Run the first episodes of a plan with one worker and keep nothing.

    Raises:
        StartError, StoppedEarly: as the run would.
    """
    began = time.monotonic()
    starting = 0.0
    records: list[EpisodeRecord] = []
    memory: int | None = None
    run = prepared.execution.load()
    episodes = islice(prepared.plan, EPISODES)
    with closing(run(prepared.job, prepared.suite, episodes, 1)) as results:
        for finished in results:
            record = finished.record
            if not records:
                starting = max(0.0, time.monotonic() - began - record.timing["total"])
            records.append(record)
            memory = finished.provenance.get("peak_memory", memory)
    return Probe(starting, tuple(records), memory)


def _waiting(timing: Mapping[str, float]) -> float:
    # Not all time without the processor: on a busy machine any code waits for that.
    idle = timing["total"] - timing.get("cpu", timing["total"])
    return max(0.0, min(idle, timing.get("agent", 0.0))) / timing["total"] if timing["total"] else 0.0
