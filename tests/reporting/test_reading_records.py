"""Records read back from a store: as they were, and without the cost of checking what the store wrote itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rbench.record import EpisodeRecord, Event, Hashes
from rbench.results.run_directory import open_run
from rbench.scene import Jitter


def test_a_stored_record_is_the_record_that_a_checked_reading_gives(make_run: Callable[..., Path]) -> None:
    (first, *_) = open_run(make_run(["success"])).episodes()
    full = replace(
        first,
        jitter={"geometry": Jitter(0.001, -0.002, 3.5)},
        values={"color": [255, 0, 0]},
        events=(Event(1.25, "grasped"), Event(2.5, "dropped", "geometry")),
        hashes=Hashes("5c", "57", {"front": "f1"}),
        agent={"calls": 3},
    )
    plain = json.loads(json.dumps(full.to_plain()))
    assert EpisodeRecord.from_stored(plain) == EpisodeRecord.from_plain(plain) == full
