"""A short probe: a few episodes, thrown away, that tell what a run would take."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from math import ceil
from statistics import mean

from rbench.record import EpisodeRecord
from rbench.running.run import PreparedRun

#: Episodes of a probe: the first also compiles its scene.
EPISODES = 3


@dataclass(frozen=True)
class Probe:
    """What a few episodes took.

    Attributes:
        starting: seconds from the start to the first episode.
        records: of the episodes, in the order they ended.
    """

    starting: float
    records: tuple[EpisodeRecord, ...]

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
    run = prepared.execution.load()
    episodes = islice(prepared.plan, EPISODES)
    with closing(run(prepared.job, prepared.suite, episodes, 1)) as results:
        for finished in results:
            record = finished.record
            if not records:
                starting = max(0.0, time.monotonic() - began - record.timing["total"])
            records.append(record)
    return Probe(starting, tuple(records))
