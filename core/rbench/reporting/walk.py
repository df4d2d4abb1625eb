"""One reading of a run's records for everything that looks at each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rbench.record import EpisodeRecord
from rbench.results.store import EpisodeStore

#: Is given each record once, in the order they were added.
Rider = Callable[[EpisodeRecord], None]


class Walk:
    """The records of a store as they were when the walk began.

    Each metric asks for records at its own pace, so each has a reading of its own. What takes them one by one (a
    rider) rides along with the first: with one metric the records are read once. Memory does not grow with the run.

    Args:
        store: open.
        riders: of counted records.
        of_all: riders of all records, infrastructure errors too.

    Attributes:
        end: position of the last record of the walk; what is added later is not part of it.
    """

    def __init__(self, store: EpisodeStore, riders: tuple[Rider, ...], of_all: tuple[Rider, ...] = ()) -> None:
        self.end = store.last_position()
        self._store = store
        self._riders, self._of_all = riders, of_all
        self._problem: Exception | None = None
        self._first = self._ridden()
        self._handed_out = False

    def counted(self) -> Iterator[EpisodeRecord]:
        """The counted records, for one metric.

        Raises:
            StartError: they cannot be read.
        """
        if self._handed_out:
            return self._store.records(counted_only=True, through=self.end)
        self._handed_out = True
        return (record for record in self._first)  # a metric that closes it leaves the walk itself open

    def finish(self) -> None:
        """Take the riders to the end, however far the first metric read.

        Raises:
            StartError: the records cannot be read.
        """
        for _ in self._first:
            pass
        if self._problem is not None:
            raise self._problem

    def _ridden(self) -> Iterator[EpisodeRecord]:
        try:
            for record in self._store.records(counted_only=not self._of_all, through=self.end):
                for rider in self._of_all:
                    rider(record)
                if record.counted:
                    for rider in self._riders:
                        rider(record)
                    yield record
        except Exception as problem:  # not the metric's fault, whatever becomes of it there
            self._problem = problem
            raise
