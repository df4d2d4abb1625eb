"""Progress of a run on stderr: one live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from math import sqrt
from types import TracebackType
from typing import TextIO

from rbench.cli.durations import duration
from rbench.record import COUNTED, EpisodeRecord, Outcome
from rbench.running.executors import Waiting

#: Seconds between two lines when stderr is not a terminal, and between two states of the live line.
PLAIN_INTERVAL, LIVE_INTERVAL = 15.0, 0.25

#: Seconds between two lines about workers that wait, when stderr is not a terminal.
WAITING_INTERVAL = 60.0

#: Episodes over which the rate is taken: it follows when a run turns slower.
_WINDOW = 50

_BAR = 20

_CLEAR_LINE = "\r\x1b[2K"


class RunProgress:
    """Shows episodes done, rate, time left, successes with their interval, errors, and what is waited for.

    A context manager. Draws only when it is told something, from the thread that tells it: there is no thread to look
    after, and a run that is killed leaves the terminal as it was.
    """

    def __init__(
        self,
        planned: int,
        counts: Mapping[Outcome, int],
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin.

        Args:
            planned: episodes in the plan.
            counts: episodes that are there already, by outcome.
        """
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._live = self._stream.isatty()
        self._planned = planned
        self._counts: Counter[Outcome] = Counter(counts)
        # Those that failed for no fault of the agent run again.
        self._counts["infrastructure_error"] = 0
        self._ended: deque[float] = deque(maxlen=_WINDOW)
        self._began = self._drawn = clock()
        self.fresh = 0
        self._times: Counter[str] = Counter()
        self._waiting: tuple[Waiting, ...] = ()
        self._told_waiting = -WAITING_INTERVAL

    def __enter__(self) -> RunProgress:
        if self._live:
            self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._stream.write(_CLEAR_LINE)
        if self.fresh:
            self._stream.write(self.line() + "\n")
        self._stream.flush()

    def advance(self, record: EpisodeRecord) -> None:
        """Take note of one finished episode."""
        now = self._clock()
        self.fresh += 1
        self._counts[record.outcome] += 1
        self._ended.append(now)
        self._times.update(record.timing)
        if now - self._drawn >= (LIVE_INTERVAL if self._live else PLAIN_INTERVAL):
            self._draw()

    def waiting(self, workers: tuple[Waiting, ...]) -> None:
        """Take note of the workers that are at something for long, or that none is any more."""
        now = self._clock()
        self._waiting = workers
        if self._live and now - self._drawn >= LIVE_INTERVAL:
            self._draw()
        elif not self._live and workers and now - self._told_waiting >= WAITING_INTERVAL:
            self._told_waiting = now
            self._stream.write(self._waiting_text() + "\n")
            self._stream.flush()

    def line(self) -> str:
        """How far the run is, in one line."""
        done = sum(self._counts.values())
        counted = sum(self._counts[outcome] for outcome in COUNTED)
        parts = [f"{done}/{self._planned} episodes"]
        rate = self._rate()
        if rate:
            parts.append(f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min")
            if done < self._planned:
                parts.append(f"{duration((self._planned - done) / rate)} left")
        if counted:
            low, high = success_interval(self._counts["success"], counted)
            parts.append(f"success {self._counts['success']}/{counted} [{100 * low:.0f}, {100 * high:.0f}] %")
        errors = done - self._counts["success"] - self._counts["failure"]
        if errors:
            parts.append(f"errors {errors}")
        return "  ".join(parts)

    def times_line(self) -> str | None:
        """Mean wall seconds of the episodes that ran, by what took them; None when none ran."""
        if not self.fresh:
            return None
        mean = {name: seconds / self.fresh for name, seconds in self._times.items()}
        parts = {
            "physics and control": mean.get("world", 0.0),
            "rendering": mean.get("render", 0.0),
            "agent": mean.get("agent", 0.0),
            "reset": mean.get("reset", 0.0),
        }
        parts["other"] = max(0.0, mean.get("total", 0.0) - sum(parts.values()))
        told = ", ".join(f"{name} {seconds:.3f}" for name, seconds in parts.items())
        return f"mean seconds an episode: {mean.get('total', 0.0):.3f} ({told})"

    def _waiting_text(self) -> str:
        """The longest wait, and how many more there are."""
        longest = max(self._waiting, key=lambda waiting: waiting.seconds)
        more = len(self._waiting) - 1
        text = f"worker {longest.worker}: {longest.doing} for {duration(longest.seconds)}"
        return text + (f" (and {more} more)" if more else "")

    def _rate(self) -> float:
        """Episodes a second, lately. The first few count from the start of the run."""
        if not self._ended:
            return 0.0
        if len(self._ended) < 3 or self._ended[-1] == self._ended[0]:
            return self.fresh / max(self._clock() - self._began, 1e-9)
        return (len(self._ended) - 1) / (self._ended[-1] - self._ended[0])

    def _draw(self) -> None:
        self._drawn = self._clock()
        if self._live:
            filled = _BAR * sum(self._counts.values()) // max(self._planned, 1)
            bar = "#" * filled + "." * (_BAR - filled)
            waiting = f"{self._waiting_text()}  " if self._waiting else ""
            text = f"[{bar}] {waiting}{self.line()}"[: shutil.get_terminal_size().columns - 1]
            self._stream.write(_CLEAR_LINE + text)
        else:
            self._stream.write(self.line() + "\n")
        self._stream.flush()


def success_interval(successes: int, episodes: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a success rate, episodes taken as independent: for a glance.

    `rbench report` takes blocks. Source: Wilson 1927.
    """
    z = 1.959963984540054
    rate, scale = successes / episodes, 1.0 + z * z / episodes
    centre = (rate + z * z / (2 * episodes)) / scale
    half = z * sqrt(rate * (1 - rate) / episodes + z * z / (4 * episodes * episodes)) / scale
    return max(0.0, centre - half), min(1.0, centre + half)
