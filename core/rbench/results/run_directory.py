"""The run directory: manifest, episodes, artifacts, report.

manifest.json      what the run is (`rbench.results.manifest`)
episodes.sqlite    its episodes (`rbench.results.store`); episodes.lock: kept locked while it is written
artifacts/         videos, images and transcripts, by episode
report/            tables and figures
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from rbench.errors import StartError, StoppedEarly, UsageError
from rbench.reading import read_json
from rbench.record import COUNTED, EpisodeRecord, Outcome
from rbench.results.atomic import replacing, replacing_binary
from rbench.results.lock import holder, is_held
from rbench.results.manifest import Manifest, State
from rbench.results.store import OUTCOMES, EpisodeStore, lock_path

#: Where runs go unless told otherwise, below the working directory.
DEFAULT_PARENT = Path("rbench-runs")
_MANIFEST, _EPISODES = "manifest.json", "episodes.sqlite"
_FOLDERS = ("artifacts", "report")
_PART = f".{_MANIFEST}.*.part"


class RunDirectory:
    """A run on disk. Make one with `create` or `open`; close it, or use it in a `with`."""

    def __init__(self, path: Path, manifest: Manifest, writer: EpisodeStore | None = None) -> None:
        self.path = path
        self._manifest = manifest
        self._writer = writer

    @classmethod
    def create(cls, path: Path | None, manifest: Manifest) -> RunDirectory:
        """Make the folder of a new run and write its manifest; this process becomes its writer.

        Args:
            path: a folder that does not exist or is empty; None: a new one below `rbench-runs`.
            manifest: what the run is.

        Raises:
            UsageError: the folder holds something already. StartError: it cannot be written.
        """
        place = _new_folder(manifest) if path is None else path
        run = cls(place, manifest)
        try:
            if path is not None:
                _take(path)
            run._writer = EpisodeStore.create(place / _EPISODES)
            run._write(manifest)
            for name in _FOLDERS:
                (place / name).mkdir()
        except OSError as problem:
            run.close()
            raise StartError(
                f"cannot write {place}: {problem.strerror}; make it writable or choose another --out"
            ) from problem
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """A run that exists, also one that another process is writing.

        Raises:
            UsageError: the folder holds no run. StartError: written by a newer rbench.
        """
        return cls(path, _read_manifest(path))

    @property
    def manifest(self) -> Manifest:
        """What the run is, as read or last written by this object."""
        return self._manifest

    @property
    def state(self) -> State:
        """The manifest's state; a run that says `running` but whose writer is gone is `interrupted`."""
        state = self._manifest.state
        if state == "running" and self._writer is None and is_held(lock_path(self.path / _EPISODES)) is False:
            return "interrupted"
        return state

    @property
    def writer(self) -> int | None:
        """The process that writes the run now, or None when none does or this cannot be told."""
        return holder(lock_path(self.path / _EPISODES))

    def store(self, readonly: bool = False, *, damaged: bool = False) -> EpisodeStore:
        """The episodes. For writing there is one store, kept open until `close`; each read-only one is the caller's.

        Args:
            damaged: read-only, of a file that may be damaged (`EpisodeStore.open`).

        Raises:
            StartError: another process is the writer, or the file cannot be used.
        """
        if readonly or damaged:
            return EpisodeStore.open(self.path / _EPISODES, readonly=True, damaged=damaged)
        if self._writer is None:
            self._writer = EpisodeStore.open(self.path / _EPISODES)
            self._manifest = _read_manifest(self.path)  # the last writer may have changed it until now
            for leftover in self.path.glob(_PART):  # of a writer that was killed
                leftover.unlink(missing_ok=True)
        return self._writer

    def episodes(self) -> Iterator[EpisodeRecord]:
        """All records so far, in the order they were added."""
        with self.store(readonly=True) as store:
            yield from store.records()

    def counts(self) -> dict[str, int]:
        """Planned, done and missing episodes, and the number of each outcome (`episode_counts`)."""
        with self.store(readonly=True) as store:
            return episode_counts(self._manifest.planned, [store.counts()])

    def update(self, **changes: Any) -> Manifest:
        """Write the manifest with some fields changed (`state="finished"`), atomically.

        Raises:
            StoppedEarly: the disk is full or not writable; the old manifest is whole.
        """
        changed = replace(self._manifest, **changes)
        try:
            self._write(changed)
        except OSError as problem:
            raise StoppedEarly(
                f"cannot write {self.path / _MANIFEST}: {problem.strerror}; free space or make it writable;"
                " the episodes so far are kept"
            ) from problem
        self._manifest = changed
        return changed

    def keep(self, files: Iterable[tuple[Path, bytes]]) -> None:
        """Write files below the run directory, each atomically; a picture that is there by its hash stays.

        Args:
            files: places relative to the run directory, and contents.

        Raises:
            StoppedEarly: the disk is full or not writable.
        """
        for place, content in files:
            path = self.path / place
            if path.suffix == ".png" and path.exists():
                continue
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with replacing_binary(path) as file:
                    file.write(content)
            except OSError as problem:
                raise StoppedEarly(
                    f"cannot write {path}: {problem.strerror}; free space or make it writable; the episodes so far are"
                    " kept"
                ) from problem

    def close(self) -> None:
        """Close the store if this object is the writer; doing so twice is fine."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, manifest: Manifest) -> None:
        with replacing(self.path / _MANIFEST) as file:
            json.dump(manifest.to_plain(), file, indent=1, allow_nan=False)
            file.write("\n")


def episode_counts(planned: int, by_outcome: Iterable[Mapping[Outcome, int]]) -> dict[str, int]:
    """Planned, done and missing episodes, and the number of each outcome.

    `done` are those in the denominator. An infrastructure error is not one of them: it is missing
    until it has run again.

    Args:
        planned: episodes in the plan.
        by_outcome: counts by outcome, to be added up (one for each dimension, say).
    """
    totals: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for counts in by_outcome:
        for outcome, count in counts.items():
            totals[outcome] += count
    done = sum(totals[outcome] for outcome in COUNTED)
    return {"planned": planned, "done": done, "missing": planned - done, **totals}


def open_run(path: str | Path) -> RunDirectory:
    """Open a run directory for reading: `open_run(DIR).episodes()`.

    Raises:
        UsageError: the folder holds no run. StartError: written by a newer rbench.
    """
    return RunDirectory.open(Path(path))


def _read_manifest(path: Path) -> Manifest:
    file = path / _MANIFEST
    try:
        data = read_json(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        what = "holds no run (no manifest.json)" if path.exists() else "does not exist"
        raise UsageError(f"{path} {what}; give a run directory that rbench run has written") from None
    except OSError as problem:
        raise StartError(f"cannot read {file}: {problem.strerror}; check its permissions") from problem
    except ValueError as problem:
        raise UsageError(f"{file} is damaged: {problem}; take it from a backup of the run directory") from problem
    return Manifest.from_plain(data, str(file))


def _take(path: Path) -> None:
    """Make the folder that the user named, or accept it empty."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file; choose a folder with --out")
    path.mkdir(parents=True, exist_ok=True)
    if (path / _MANIFEST).exists():
        writer = holder(lock_path(path / _EPISODES))
        going = "" if writer is None else f", which process {writer} is writing"
        raise UsageError(
            f"{path} holds a run already{going}; choose another --out, or go on with it: rbench resume {path}"
        )
    if any(path.iterdir()):
        if not _never_began(path):
            raise UsageError(f"{path} is not empty; choose another --out")
        shutil.rmtree(path)
        path.mkdir()


def _never_began(path: Path) -> bool:
    """Whether all that is there is what a run leaves that was killed before it wrote its manifest."""
    store = path / _EPISODES
    known = {_EPISODES, f"{_EPISODES}-journal", lock_path(store).name, *_FOLDERS}
    names = {item.name for item in path.iterdir() if not item.match(_PART)}
    if not names <= known or any((path / name).is_dir() and any((path / name).iterdir()) for name in names):
        return False
    if not names & {_EPISODES, lock_path(store).name} or is_held(lock_path(store)) is not False:
        return False
    return not store.exists() or EpisodeStore.is_empty(store)


def _new_folder(manifest: Manifest) -> Path:
    """A folder that no other run has, also one that starts in the same instant: mkdir is exclusive."""
    stem = "-".join((manifest.created[:10], _slug(manifest.suite.name), _slug(manifest.agent.name)))
    for _ in range(100):
        place = DEFAULT_PARENT / f"{stem}-{secrets.token_hex(2)}"
        try:
            place.mkdir(parents=True)
        except FileExistsError:
            if not place.is_dir():
                break
            continue
        except OSError as problem:
            raise StartError(
                f"cannot write {place}: {problem.strerror}; work in a writable folder or choose one with --out"
            ) from problem
        return place
    raise StartError(f"cannot find a free name for {stem} below {DEFAULT_PARENT}; choose a folder with --out")


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:40] or "run"
