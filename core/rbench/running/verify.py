"""Verify: whether a run on disk is whole, belongs to its plan, and happens again when it is replayed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from rbench.errors import StartError, UsageError
from rbench.record import COUNTED, Outcome
from rbench.results.inspection import DamagedEpisode, complaints, inspect_store
from rbench.results.run_directory import RunDirectory
from rbench.running.plan import Plan, Selection
from rbench.running.replay import Replayer, ReplayResult
from rbench.suites.suite import Suite
from rbench.values import from_plain

#: Differences of one table that are named.
_MOST_DIFFERENCES = 5


@dataclass
class StoreCheck:
    """What is on disk, read byte by byte.

    Attributes:
        outcomes: of every whole episode, by its id.
        playable: ids of those that have something to replay.
        counts: whole episodes by dimension and outcome, counted from the records themselves.
        findings: what is damaged.
    """

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    playable: list[str] = field(default_factory=list)
    counts: dict[str, dict[Outcome, int]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)


def check_store(run: RunDirectory) -> StoreCheck:
    """Read every episode of a run that nobody writes.

    Raises:
        StartError: it is being written. Its checks would find it half done, and keep its writer waiting.
    """
    if run.state == "running":
        raise StartError(f"{run.path} is being written; verify it when it has ended: rbench status {run.path}")
    check = StoreCheck()
    with run.store(damaged=True) as store:
        check.findings += complaints(store)
        for found in inspect_store(store):
            if isinstance(found, DamagedEpisode):
                check.findings.append(str(found))
                continue
            record = found.record
            check.outcomes[record.episode] = record.outcome
            of_dimension = check.counts.setdefault(record.dimension, {})
            of_dimension[record.outcome] = of_dimension.get(record.outcome, 0) + 1
            if found.trajectory:
                check.playable.append(record.episode)
    return check


def check_plan(suite: Suite, run: RunDirectory, check: StoreCheck) -> list[str]:
    """What of the episodes does not fit the plan that the manifest states."""
    manifest = run.manifest
    plan = Plan(suite, from_plain(Selection, manifest.selection))
    planned = {episode.id for episode in plan}
    findings = [f"{episode}: is not in the plan" for episode in check.outcomes if episode not in planned]
    if len(planned) != manifest.planned:
        findings.append(f"manifest.json: planned {manifest.planned}, its selection plans {len(planned)}")
    missing = [episode for episode in planned if episode not in check.outcomes]
    if manifest.state == "finished" and missing:
        findings.append(f"manifest.json: state finished, {len(missing)} planned episodes are missing ({min(missing)})")
    return findings


def check_counts(check: StoreCheck, table: Mapping[str, Any]) -> list[str]:
    """Where the counts of a table are not those of the records.

    Args:
        table: the report of the run as plain data.
    """
    findings = []
    for name, row in table["dimensions"].items():
        counts = check.counts.get(name, {})
        told = {
            "successes": counts.get("success", 0),
            "episodes": sum(counts.get(outcome, 0) for outcome in COUNTED),
        }
        findings += [
            f"table: {key} of {name} is {row[key]}, the records say {n}" for key, n in told.items() if row[key] != n
        ]
    return findings


def stored_tables(run: RunDirectory) -> Iterator[tuple[str, dict[str, Any]]]:
    """The reports of this run in its folder `report/`, with the name of their file; what is no report is skipped."""
    for path in sorted((run.path / "report").glob("*.json")):
        try:
            tables = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        for table in tables if isinstance(tables, list) else [tables]:
            if isinstance(table, dict) and table.get("created") == run.manifest.created and "counts" in table:
                yield f"report/{path.name}", table


def check_table(name: str, stored: Mapping[str, Any], computed: Mapping[str, Any]) -> list[str]:
    """Where a stored table is not what comes out now. Where the run lies, and its state then, may differ."""
    differences = list(_differences(stored, computed, ""))
    more = len(differences) - _MOST_DIFFERENCES
    return [f"{name}: {difference}" for difference in differences[:_MOST_DIFFERENCES]] + (
        [f"{name}: and {more} more"] if more > 0 else []
    )


def _differences(stored: Any, computed: Any, path: str) -> Iterator[str]:
    if isinstance(stored, Mapping) and isinstance(computed, Mapping):
        for key in [*stored, *(k for k in computed if k not in stored)]:
            if path or key not in ("run", "state"):
                yield from _differences(stored.get(key), computed.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(stored, list) and isinstance(computed, list) and len(stored) == len(computed):
        for number, (a, b) in enumerate(zip(stored, computed, strict=True)):
            yield from _differences(a, b, f"{path}[{number}]")
    elif stored != computed:
        yield f"{path} is {stored!r}, recomputed {computed!r}"


def sample(episodes: list[str], *, share: float | None = None, number: int | None = None, seed: int = 0) -> list[str]:
    """A random part of the episodes, the same for the same seed whatever their order.

    Args:
        share: 0..1, rounded up. number: at most so many. One of the two.
    """
    if (share is None) == (number is None):
        raise UsageError("give either a share or a number of episodes")
    wanted = ceil((share or 0.0) * len(episodes)) if number is None else min(number, len(episodes))
    return sorted(random.Random(seed).sample(sorted(episodes), wanted))


def replay_all(replayer: Replayer, episodes: list[str], done: Callable[[ReplayResult], None]) -> list[str]:
    """Replay episodes one after the other; what differed.

    Args:
        done: is told of each.
    """
    findings = []
    for episode in episodes:
        result = replayer.replay(episode)
        if result.differences:
            findings.append(f"{episode}: replay differs in {', '.join(result.differences)}")
        done(result)
    return findings
