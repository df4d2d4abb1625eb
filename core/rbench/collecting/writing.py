"""Writing: chosen episodes of a run become a data set, by several processes, each demonstration once."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path
from typing import Any

from rbench.collecting.card import write_card
from rbench.collecting.collection import Collection, Place, write_json
from rbench.collecting.demonstration import Slot, demonstrate, slots_of
from rbench.collecting.formats.form import Written, format_named, sha256
from rbench.collecting.gathering import Gathered
from rbench.errors import StoppedEarly
from rbench.plugins.catalog import build_catalog
from rbench.record import EpisodeRecord
from rbench.results.run_directory import RunDirectory
from rbench.running.replay import Replayer
from rbench.values import from_plain, to_plain


def write_dataset(
    collection: Collection,
    place: Place,
    gathered: Gathered,
    workers: int,
    on_written: Callable[[int, int], Any] = lambda done, planned: None,
) -> None:
    """Write every chosen episode that is not in the data set yet, then what belongs to all of them.

    Args:
        workers: processes that replay and draw; they decide no byte.
        on_written: called with the number of demonstrations that are there and that will be.

    Raises:
        StoppedEarly: nothing can be written, or a worker was ended from outside; the same call goes on.
    """
    with gathered.run.store(readonly=True) as store:
        slots = slots_of([store.record(episode) for episode in gathered.chosen])
    missing = [slot for slot in slots if not _is_written(place, slot)]
    done = len(slots) - len(missing)
    on_written(done, len(slots))
    for _ in _write_all(collection, place, missing, workers):
        done += 1
        on_written(done, len(slots))
    written = [_read(place.written(slot.index)) for slot in slots]
    format_named(collection).finish(place.path, written)
    write_card(collection, place, gathered, written)


class DatasetWriter:
    """Writes demonstrations of one collection, one after the other. Close it, or use it in a `closing`."""

    def __init__(self, collection: Collection, place: Place) -> None:
        self._collection = collection
        self._place = place
        self._run = RunDirectory.open(place.run)
        self._store = self._run.store(readonly=True)
        self._replayer = Replayer(build_catalog(), self._run)
        self._format = format_named(collection)

    def write(self, slot: Slot) -> int:
        """Write one demonstration, and note last that it is there; its number."""
        collection, root = self._collection, self._place.path
        demonstration = demonstrate(
            self._replayer,
            self._store.trajectory(slot.episode),
            slot,
            collection.cameras,
            collection.height,
            collection.width,
        )
        files, statistics = self._format.write(root, demonstration)
        note = Written(
            **to_plain(slot),
            origin=origin_of(demonstration.record),
            gl=demonstration.gl,
            files={file: sha256(root / file) for file in files},
            statistics=statistics,
        )
        write_json(self._place.written(slot.index), to_plain(note))
        return slot.index

    def close(self) -> None:
        """Close run and world."""
        self._replayer.close()
        self._store.close()


def origin_of(record: EpisodeRecord) -> dict[str, Any]:
    """What of a record says how its episode can be made again."""
    plain = record.to_plain()
    names = ("instance", "repeat", "task", "context", "levels", "jitter", "seed", "sim_seconds", "events")
    return {**{name: plain[name] for name in names}, "scene": record.hashes.scene, "state": record.hashes.state}


def _write_all(collection: Collection, place: Place, slots: Sequence[Slot], workers: int) -> Iterator[int]:
    if min(workers, len(slots)) <= 1:
        if slots:
            with closing(DatasetWriter(collection, place)) as writer:
                yield from map(writer.write, slots)
        return
    plain = to_plain(collection), str(place.path)
    pool = ProcessPoolExecutor(
        min(workers, len(slots)), multiprocessing.get_context("spawn"), initializer=_begin, initargs=plain
    )
    try:
        for finished in as_completed([pool.submit(_write_one, slot) for slot in slots]):
            yield finished.result()
    except BrokenProcessPool as problem:
        raise StoppedEarly(
            "a process that draws pictures was ended from outside (perhaps for memory: each takes some hundred MB);"
            " give the same command again, with fewer --workers"
        ) from problem
    finally:
        pool.shutdown(cancel_futures=True)


_writer: DatasetWriter | None = None


def _begin(collection: dict[str, Any], path: str) -> None:
    """Prepare a worker process: one writer for all that it will write."""
    global _writer
    # Ctrl-C is the parent's to handle; when that is gone, nobody waits for what this process would write.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _writer = DatasetWriter(from_plain(Collection, collection), Place(Path(path)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _write_one(slot: Slot) -> int:
    assert _writer is not None
    return _writer.write(slot)


def _is_written(place: Place, slot: Slot) -> bool:
    """Whether exactly this demonstration is there already."""
    file = place.written(slot.index)
    if not file.exists():
        return False
    try:
        found = _read(file)
    except (ValueError, RecursionError):  # damaged: written again
        return False
    return (found.episode, found.start, found.length) == (slot.episode, slot.start, slot.length)


def _read(file: Path) -> Written:
    return from_plain(Written, json.loads(file.read_text(encoding="utf-8")))
