"""Every decision in a validation directory, kept up with what any server there appends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rbench.errors import UsageError
from rbench.reading import read_json
from rbench.review.reviewers import file_name
from rbench.validation.directory import append_line
from rbench.validation.findings import Decision
from rbench.values import from_plain

_Key = tuple[str, str, str, int]


class Ledger:
    """Reads only what is new: a server asks before every reply, so that it knows what others wrote meanwhile.

    A last line without an end is somebody's write that goes on, or was cut short; it counts once it has its end, and
    never when it is damaged. Not safe for several threads at once.

    Attributes:
        changes: grows with every line that was read; when it stayed the same, so did everything.
    """

    def __init__(self, folder: Path) -> None:
        self.changes = 0
        self._folder = folder
        self._read: dict[Path, int] = {}
        self._standing: dict[_Key, Decision] = {}

    def append(self, decision: Decision) -> None:
        """Write a decision; it is on disk, and among those that stand, when this returns.

        Raises:
            StoppedEarly: the disk is full or not writable.
        """
        append_line(self._folder / file_name(decision.reviewer), decision)
        self.refresh()

    def refresh(self) -> None:
        """Read what was appended since.

        Raises:
            UsageError: a line is not a decision, or a file cannot be read.
        """
        files = sorted(self._folder.glob("*.jsonl"))
        try:
            if any(file.stat().st_size < self._read.get(file, 0) for file in files) or not self._read.keys() <= {
                *files
            }:
                self._read, self._standing = {}, {}  # somebody put other files in place of these
                self.changes += 1
            for file in files:
                for decision in self._new(file):
                    self._note(decision)
        except OSError as problem:
            raise UsageError(f"{problem.filename} cannot be read ({problem.strerror}); make it readable") from None

    def standing(self) -> list[Decision]:
        """The decisions that were not taken back; those of one reviewer in the order of their last lines."""
        return list(self._standing.values())

    def _new(self, file: Path) -> Iterator[Decision]:
        with file.open("rb") as opened:
            opened.seek(self._read.get(file, 0))
            data = opened.read()
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.split(b"\n"):
            if line and (decision := _decision(line, file)) is not None:
                yield decision
        self._read[file] = self._read.get(file, 0) + len(whole)

    def _note(self, decision: Decision) -> None:
        key = (decision.reviewer, decision.instance, decision.camera, decision.reading)
        self.changes += 1
        self._standing.pop(key, None)  # the last one said is the first to be taken back
        if decision.answer is not None:
            self._standing[key] = decision


def _decision(line: bytes, file: Path) -> Decision | None:
    """A line as a decision; None when a crash cut it short."""
    try:
        data = read_json(line.decode("utf-8"))
    except ValueError:
        return None
    try:
        return from_plain(Decision, data)
    except ValueError as problem:
        raise UsageError(f"{file} holds a line that is no decision ({problem}); remove that line") from None
