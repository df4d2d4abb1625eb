"""Putting the episodes and artifacts of several runs together."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rbench.errors import UsageError
from rbench.results.store import EpisodeStore

_FAILED = "infrastructure_error"


def merge_episodes(source: EpisodeStore, target: EpisodeStore, run: Path, replaced: Callable[[str], None]) -> None:
    """Copy the episodes of a run that the target does not have. Memory does not grow with their number.

    An episode that both have must be the same in both, but for `timing`. One that ended for no fault of the agent in
    one of them is taken from the other.

    Args:
        run: where the source lies, for messages.
        replaced: is told of each episode of the target that gave way.

    Raises:
        UsageError: an episode differs; names it and what differs.
        StartError: the source is damaged. StoppedEarly: the disk is full.
    """

    def missing() -> Iterator[tuple[dict[str, Any], bytes]]:
        for plain, trajectory in source.stored():
            episode = plain["episode"]
            there = target.find(episode)
            if there is None:
                yield plain, trajectory
            elif plain["outcome"] == _FAILED:
                continue
            elif there[0]["outcome"] == _FAILED:
                replaced(episode)
                yield plain, trajectory
            elif different := _differences((plain, trajectory), there):
                raise UsageError(
                    f"episode {episode!r} of {run} is not what another of these runs says: {', '.join(different)}"
                    " differ. They are not parts of one run, or one is damaged (rbench verify); leave one out"
                )

    target.append_all(missing())


def _differences(one: tuple[dict[str, Any], bytes], other: tuple[dict[str, Any], bytes]) -> list[str]:
    keys = [
        key for key in dict.fromkeys([*one[0], *other[0]]) if key != "timing" and one[0].get(key) != other[0].get(key)
    ]
    return keys if one[1] == other[1] else [*keys, "trajectory"]


def merge_files(source: Path, target: Path) -> None:
    """Copy the files of a folder, and of those below, that the target does not have. Only files: no links."""
    for folder, _, names in os.walk(source):
        for name in names:
            file = Path(folder, name)
            copy = target / file.relative_to(source)
            if file.is_symlink() or not file.is_file() or copy.exists():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)


def replace_file(source: Path, target: Path) -> None:
    """Have a file of the source take the place of the target's, or its absence."""
    if source.is_file() and not source.is_symlink():
        if not target.exists() or not filecmp.cmp(source, target, shallow=False):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    else:
        target.unlink(missing_ok=True)
