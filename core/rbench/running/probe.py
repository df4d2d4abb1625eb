"""A short probe: a few episodes, thrown away, that tell what a run would take."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from math import ceil
from statistics import mean
from typing import Any

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

    def calls(self) -> float | None:
        """Model calls an episode, or None when the agent reports none of its questions."""
        asked = [_questions(record) for record in self.records]
        return mean(len(questions) for questions in asked if questions is not None) if any(asked) else None

    def cost(self) -> float | None:
        """US dollars an episode, or None when it is not known."""
        costs = [q.get("cost") for record in self.records for q in _questions(record) or ()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) / len(self.records) if known else None


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


def _questions(record: EpisodeRecord) -> list[Mapping[str, Any]] | None:
    """The questions that an agent reports (`rbench.vision.asking.Interview.plain`), or None when it reports none."""
    found = list(_question_lists(record.agent.get("report")))
    return [question for questions in found for question in questions] if found else None


def _question_lists(report: Any) -> Iterator[list[Mapping[str, Any]]]:
    if isinstance(report, Mapping):
        for key, value in report.items():
            if key == "questions" and isinstance(value, list):
                yield [item for item in value if isinstance(item, Mapping)]
            else:
                yield from _question_lists(value)
