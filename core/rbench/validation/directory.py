"""The validation directory: everything that was found out about the pictures of one suite.

validation.json    what was validated and what came out (`Validation`)
verdicts.jsonl     the measured gate: a line an instance and camera (`Finding`)
answers.jsonl      the pre-screen by a vision model: a line a picture (`rbench.validation.screening`)
queue.jsonl        pictures that people are to read, in order (`QueueItem`)
decisions/         what people said: a file a reviewer, only ever appended to (`Decision`)
images/            the pictures, PNG, by hash
iterations.jsonl   earlier validations in this directory: a line a changed suite
contact-sheet.png  the worst pictures
solvability-HASH/  the run of the expert over the suite of that hash
NAME.validation.json   once all stages that were done pass: what says so beside the suite's own file
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from rbench.errors import StartError, StoppedEarly, UsageError
from rbench.reading import read_json
from rbench.results.atomic import replacing, replacing_binary
from rbench.validation.findings import Decision, Finding, QueueItem
from rbench.values import from_plain, to_plain

SCHEMA = 1
MANIFEST, VERDICTS, ANSWERS, QUEUE = "validation.json", "verdicts.jsonl", "answers.jsonl", "queue.jsonl"
DECISIONS, IMAGES, ITERATIONS = "decisions", "images", "iterations.jsonl"
CONTACT_SHEET, SOLVABILITY = "contact-sheet.png", "solvability"

T = TypeVar("T", Finding, QueueItem, Decision)


@dataclass(frozen=True, kw_only=True)
class Validation:
    """What was validated, and what came out; the content of `validation.json`.

    Attributes:
        suite, suite_hash, source: as in the manifest of a run.
        instances: how many were looked at. whole: they are all of the suite.
        cameras: the cameras that were looked through.
        thresholds: the rules, as the suite has them (`rbench.suites.fairness.FairnessRules`).
        rate: share of instances that pass the measured gate, 0..1.
        rule: the share that is needed at every stage.
        stages: what each stage found (`measured`, `solvable`, `model`, `people`), for those that were done.
        iteration: counts the suites that were validated in this directory.
        created: UTC, ISO 8601. gl: what drew the pictures.
    """

    suite: str
    suite_hash: str
    source: str
    render: str
    instances: int
    whole: bool
    cameras: tuple[str, ...]
    thresholds: Mapping[str, Any]
    rule: float
    stages: Mapping[str, Any] = field(default_factory=dict)
    iteration: int = 1
    created: str = ""
    rbench: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    gl: Mapping[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA


class ValidationDirectory:
    """A validation on disk. Files are replaced as a whole; only decisions and answers are appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path) -> ValidationDirectory:
        """The directory of that path, made when it is not there.

        Raises:
            UsageError: it holds something else. StartError: it cannot be written.
        """
        try:
            if path.exists() and not (path.is_dir() and _is_ours(path)):
                raise UsageError(f"{path} holds something else than a validation; give another -o")
            (path / IMAGES).mkdir(parents=True, exist_ok=True)
            (path / DECISIONS).mkdir(exist_ok=True)
        except OSError as problem:
            raise StartError(f"{path}: cannot be written ({problem.strerror}); give another -o") from None
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> ValidationDirectory:
        """A validation that exists.

        Raises:
            UsageError: the folder holds none.
        """
        if not (path / MANIFEST).is_file():
            raise UsageError(f"{path} holds no validation; make one with: rbench validate SUITE -o {path}")
        return cls(path)

    @property
    def exists(self) -> bool:
        """Whether something was validated here."""
        return (self.path / MANIFEST).is_file()

    def validation(self) -> Validation:
        """What was validated.

        Raises:
            UsageError: the file is damaged. StartError: written by a newer rbench.
        """
        place = self.path / MANIFEST
        data = _parsed(place, self._text(place))
        if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
            raise UsageError(f"{place} is not the manifest of a validation; give what rbench validate has written")
        if data["schema"] > SCHEMA:
            raise StartError(f"{place} was written by a newer rbench; upgrade it: pip install -U rbench")
        return _value(Validation, data, place)

    def findings(self) -> Iterator[Finding]:
        """The verdicts of the measured gate, in the order of the design, the cameras of an instance together."""
        return self._values(Finding, self.path / VERDICTS)

    def queue(self) -> Iterator[QueueItem]:
        """The pictures that people are to read, in order."""
        return self._values(QueueItem, self.path / QUEUE)

    def decisions(self) -> list[Decision]:
        """What people said and did not take back, by reviewer, in the order they first said it.

        A last line that was not written to its end (a crash) is left out.
        """
        latest: dict[tuple[str, str, str, int], Decision] = {}
        for file in sorted((self.path / DECISIONS).glob("*.jsonl")):
            for decision in self._values(Decision, file, appended=True):
                latest[(decision.reviewer, decision.instance, decision.camera, decision.reading)] = decision
        return [decision for decision in latest.values() if decision.answer is not None]

    def answers(self) -> Iterator[Mapping[str, Any]]:
        """What a vision model answered, a table a picture; of equal pictures the last line counts."""
        place = self.path / ANSWERS
        if place.exists():
            yield from _lines(place, self._text(place), appended=True)

    def iterations(self) -> list[Mapping[str, Any]]:
        """What earlier suites in this directory came to, oldest first."""
        place = self.path / ITERATIONS
        return list(_lines(place, self._text(place))) if place.exists() else []

    def image(self, item: Finding | QueueItem) -> Path:
        """The path of a picture.

        Raises:
            UsageError: the line names a file outside the folder of pictures.
        """
        path = self.path / item.image
        if path.resolve().parent != (self.path / IMAGES).resolve():
            raise UsageError(f"{item.image!r} is no picture of {self.path}; its queue or verdicts are damaged")
        return path

    def write(self, validation: Validation) -> None:
        """Write `validation.json`."""
        self._replace(MANIFEST, json.dumps(to_plain(validation), indent=2, allow_nan=False) + "\n")

    def write_findings(self, findings: Iterable[Finding]) -> None:
        """Write `verdicts.jsonl`."""
        self._replace(VERDICTS, _as_lines(findings))

    def write_queue(self, items: Iterable[QueueItem]) -> None:
        """Write `queue.jsonl`."""
        self._replace(QUEUE, _as_lines(items))

    def write_iterations(self, iterations: Iterable[Mapping[str, Any]]) -> None:
        """Write `iterations.jsonl`."""
        self._replace(ITERATIONS, _as_lines(iterations))

    def write_bytes(self, place: str, content: bytes) -> None:
        """Write a file below the directory; a picture that is there by its hash stays."""
        path = self.path / place
        if path.parent.name == IMAGES and path.exists():
            return
        try:
            with replacing_binary(path) as file:
                file.write(content)
        except OSError as problem:
            raise _not_written(path, problem) from problem

    def append_answer(self, answer: Mapping[str, Any]) -> None:
        """Append a line to `answers.jsonl`; it is on disk when this returns."""
        append_line(self.path / ANSWERS, answer)

    def update(self, **changes: Any) -> Validation:
        """Write `validation.json` with some fields changed."""
        changed = replace(self.validation(), **changes)
        self.write(changed)
        return changed

    def _values(self, cls: type[T], place: Path, *, appended: bool = False) -> Iterator[T]:
        if not place.exists():
            return
        for data in _lines(place, self._text(place), appended=appended):
            yield _value(cls, data, place)

    def _text(self, place: Path) -> str:
        try:
            return place.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise UsageError(f"{place} cannot be read ({problem}); validate the suite again in a new -o") from None

    def _replace(self, name: str, text: str) -> None:
        path = self.path / name
        try:
            with replacing(path) as file:
                file.write(text)
        except OSError as problem:
            raise _not_written(path, problem) from problem


def append_line(path: Path, value: Any) -> None:
    """Append a JSON line to a file, and wait until it is on disk.

    What a crash left behind of an unfinished last line is closed off first.

    Raises:
        StoppedEarly: the disk is full or not writable.
    """
    line = json.dumps(to_plain(value), allow_nan=False)
    try:
        is_new = not path.exists()
        with path.open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(line.encode("ascii") + b"\n")
            file.flush()  # one write at the end of the file: lines of several writers do not mix
            os.fsync(file.fileno())
        if is_new:
            _sync_folder(path.parent)
    except OSError as problem:
        raise _not_written(path, problem) from problem


def _sync_folder(path: Path) -> None:
    """Wait until the name of a new file is on disk too, where folders can be opened (not on Windows)."""
    with contextlib.suppress(PermissionError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _is_ours(path: Path) -> bool:
    """Whether a folder is empty, or a validation, maybe one that was ended before it had a manifest."""
    return (path / MANIFEST).exists() or {item.name for item in path.iterdir()} <= {IMAGES, DECISIONS}


def _as_lines(values: Iterable[Any]) -> str:
    return "".join(json.dumps(to_plain(value), allow_nan=False) + "\n" for value in values)


def _lines(place: Path, text: str, *, appended: bool = False) -> Iterator[dict[str, Any]]:
    """The tables of a file; in one that is appended to, a line that a crash cut short is left out."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            data = read_json(line)
        except ValueError:
            if appended:
                continue
            raise UsageError(f"{place}, line {number} is damaged; validate the suite again in a new -o") from None
        if not isinstance(data, dict):
            raise UsageError(f"{place}, line {number} is no table; validate the suite again in a new -o")
        yield data


def _parsed(place: Path, text: str) -> Any:
    try:
        return read_json(text)
    except ValueError as problem:
        raise UsageError(f"{place} is damaged ({problem}); validate the suite again in a new -o") from None


_Value = TypeVar("_Value")


def _value(cls: type[_Value], data: Any, place: Path) -> _Value:
    try:
        return from_plain(cls, data)
    except ValueError as problem:
        raise UsageError(f"{place} is damaged: {problem}; validate the suite again in a new -o") from None


def _not_written(path: Path, problem: OSError) -> StoppedEarly:
    return StoppedEarly(f"cannot write {path}: {problem.strerror}; free space or make it writable, and go on")
