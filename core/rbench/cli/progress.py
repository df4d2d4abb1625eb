"""Progress of a run on stderr: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rbench.record import EpisodeRecord

#: Seconds between two plain lines when stderr is not a terminal.
PLAIN_INTERVAL = 15.0


class RunProgress:
    """Shows episodes done, rate, time left, and the running success count. A context manager."""

    def __init__(self, total: int, done: int = 0) -> None:
        self._console = Console(stderr=True)
        self._total = total
        self._done = done
        self._counted = 0
        self._successes = 0
        self._errors = 0
        self._started = self._last = time.monotonic()
        self._fresh = 0
        self._bar: Progress | None = None
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("episodes"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[facts]}"),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("episodes", total=total, completed=done, facts="")

    def __enter__(self) -> RunProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._fresh:
            self._print_plain()

    def advance(self, record: EpisodeRecord) -> None:
        """Take note of one finished episode."""
        self._done += 1
        self._fresh += 1
        self._counted += record.counted
        self._successes += record.success
        self._errors += record.outcome not in ("success", "failure")
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, facts=self._facts())
        elif time.monotonic() - self._last >= PLAIN_INTERVAL:
            self._print_plain()

    def _facts(self) -> str:
        rate = self._fresh / max(time.monotonic() - self._started, 1e-9)
        text = f"{rate:.1f}/s  success {self._successes}/{self._counted}"
        return f"{text}  errors {self._errors}" if self._errors else text

    def _print_plain(self) -> None:
        self._last = time.monotonic()
        self._console.print(f"{self._done}/{self._total} episodes  {self._facts()}", highlight=False, soft_wrap=True)
