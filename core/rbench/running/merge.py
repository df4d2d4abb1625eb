"""Merging: runs that are parts of one plan become one run directory."""

from __future__ import annotations

import glob
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from rbench.errors import StartError, UsageError
from rbench.interfaces.agent import AgentManifest
from rbench.plugins.catalog import Catalog
from rbench.results.lock import is_held
from rbench.results.manifest import Manifest, MergedRun
from rbench.results.merging import merge_episodes, merge_files, replace_file
from rbench.results.run_directory import RunDirectory, open_run
from rbench.results.store import lock_path
from rbench.running.differences import differences, named
from rbench.running.plan import Plan, Selection
from rbench.running.shards import Shard
from rbench.running.visibility import unseen_dimensions
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.values import from_plain, to_plain
from rbench.vision.transcripts import transcript_path

#: What the parts of one run have in common. `design` and `planned` follow from it.
_COMPARED = (
    "suite",
    "render",
    "agent",
    "wrappers",
    "vision",
    "seed",
    "selection",
    "metrics",
    "rbench",
    "versions",
    "gl",
)

#: Of these a difference can be accepted: the episodes are still those of one plan and one agent.
_ACCEPTABLE = ("metrics", "rbench", "versions", "gl")

_WORDS = "{} is {} there and {} here"

#: Where something lies may differ from machine to machine.
_PLACES = ("suite.source", "agent.folder", "selection.shard")


def merge(catalog: Catalog, places: Sequence[Path], out: Path, *, accept_changes: bool = False) -> RunDirectory:
    """Put runs together that were made of the same plan, as a run directory of their whole plan.

    It appears complete or not at all. What no part has is missing: `rbench resume` runs it.

    Args:
        places: run directories, finished or not, two at least.
        out: a folder that does not exist or is empty.
        accept_changes: put them together although versions or the OpenGL renderer differ, and write down which.

    Raises:
        UsageError: they are not of one plan, or an episode differs; names the keys or the episode.
        StartError: one is being written or damaged, or the suite is not what it was.
    """
    runs = _opened(places)
    inside = next((place for place in places if out.resolve().is_relative_to(place.resolve())), None)
    if inside is not None:
        raise UsageError(f"-o {out}: lies inside {inside}, which is to stay as it is; choose a folder elsewhere")
    _check_free(out)
    changes = _changes(runs, accept_changes)
    suite = load_suite(catalog, runs[0].manifest.suite.source)
    for run in runs:
        _check_plan(suite, run)
    manifest = _manifest(suite, runs, changes)
    part = out.with_name(f".{out.name}.{secrets.token_hex(4)}.part")
    try:
        with RunDirectory.create(part, manifest) as target:
            for run in runs:
                _add(run, target)
            state = "stopped" if target.counts()["missing"] else "finished"
            target.update(state=state)
        part.rename(out)
    except OSError as problem:
        raise StartError(f"cannot write {out}: {problem.strerror}; free space or choose another folder") from problem
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return open_run(out)


def merged_shards(manifest: Manifest) -> tuple[list[str], list[str]]:
    """The shards that a run was merged from, and those of the same plan that were not there.

    Empty when it was merged from anything else than shards of one cut.
    """
    shards = [Shard.parse(run.shard) for run in manifest.merged if run.shard is not None]
    if not shards or len(shards) < len(manifest.merged) or len({shard.of for shard in shards}) > 1:
        return [], []
    there = {shard.index for shard in shards}
    every = [Shard(index, shards[0].of) for index in range(1, shards[0].of + 1)]
    return [str(s) for s in every if s.index in there], [str(s) for s in every if s.index not in there]


def shard_of(manifest: Manifest) -> str | None:
    """The shard that a run is, `2/4`; None when it is a whole plan."""
    shard = from_plain(Selection, manifest.selection).shard
    return None if shard is None else str(shard)


def shard_line(manifest: Manifest) -> str | None:
    """What a reader must know of shards: that the run is one, or of which it was put together."""
    if (shard := shard_of(manifest)) is not None:
        return f"shard {shard} of the plan"
    if not manifest.merged:
        return None
    there, missing = merged_shards(manifest)
    if not there:
        return f"merged from {len(manifest.merged)} runs"
    return f"merged from shards {', '.join(there)}" + (f" (not there: {', '.join(missing)})" if missing else "")


def _opened(places: Sequence[Path]) -> list[RunDirectory]:
    if len(places) < 2:
        raise UsageError("merge puts two or more runs together; name all of their directories")
    known: dict[Path, Path] = {}
    for place in places:
        if (other := known.setdefault(place.resolve(), place)) is not place:
            raise UsageError(f"{place} is the same run as {other}; name it once")
    runs = [open_run(place) for place in places]
    for run in runs:
        if run.state == "running":
            raise StartError(f"{run.path} is being written; merge it when it has ended: rbench status {run.path}")
    return runs


def _check_free(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"-o {out}: is there already, and no folder; choose a folder that does not exist yet")
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"-o {out}: is not empty; choose a folder that does not exist yet")
    out = out.absolute()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StartError(f"-o {out}: cannot be made ({problem.strerror}); choose another folder") from problem
    for leftover in out.parent.glob(f".{glob.escape(out.name)}.*.part"):  # of a merge that was killed
        if is_held(lock_path(leftover / "episodes.sqlite")) is False:
            shutil.rmtree(leftover, ignore_errors=True)


def _changes(runs: Sequence[RunDirectory], accept: bool) -> dict[str, tuple[Any, Any]]:
    """Differences that were accepted."""
    accepted: dict[str, tuple[Any, Any]] = {}
    first, *others = runs
    for run in others:
        found = dict(_differences(first.manifest, run.manifest))
        grave = {key: values for key, values in found.items() if not _is_acceptable(key, values[0])}
        if grave:
            raise UsageError(
                f"{run.path} is no part of the same run as {first.path}: {named(grave, _WORDS)}. Merge runs that"
                " differ in --shard alone; `rbench compare` sets others side by side"
            )
        if found and not accept:
            raise StartError(
                f"{run.path} was not made with what {first.path} was: {named(found, _WORDS)}. Mix them on purpose with"
                " --accept-changes"
            )
        accepted |= found
    return accepted


def _is_acceptable(key: str, value: Any) -> bool:
    if key.endswith(".version"):
        # What is no distribution has the hash of its file for a version: another one is another agent.
        return not str(value).startswith("sha256:")
    return key.partition(".")[0] in _ACCEPTABLE


def _differences(one: Manifest, other: Manifest) -> Iterator[tuple[str, tuple[Any, Any]]]:
    before, after, places = one.to_plain(), other.to_plain(), set(_paths(one))
    for key in _COMPARED:
        if key == "gl" and not (before[key] and after[key]):
            continue  # one of them drew nothing
        for path, values in differences(before[key], after[key], key):
            if not path.startswith(_PLACES) and not path.endswith(".folder") and path not in places:
                yield path, values


def _paths(manifest: Manifest) -> Iterator[str]:
    """The options that say where weights lie. Which they are, the agent declares: that is compared."""
    if manifest.agent.manifest.get("weights"):
        parts = [("agent", manifest.agent.options)]
        parts += [(f"wrappers[{i}]", used.options) for i, used in enumerate(manifest.wrappers)]
        for place, options in parts:
            for name in options.paths:
                yield from (f"{place}.options.given.{name}", f"{place}.options.resolved.{name}")


def _check_plan(suite: Suite, run: RunDirectory) -> None:
    """Refuse to plan the whole with another suite or preset than the parts were planned with."""
    manifest = run.manifest
    if suite.hash != manifest.suite.hash:
        raise StartError(
            f"suite {suite.source} is not what {run.path} was made with (hash {suite.hash[:12]}, then"
            f" {manifest.suite.hash[:12]}); bring back the file or the version of its plugin, then merge"
        )
    design = Plan(suite, from_plain(Selection, manifest.selection)).design
    if different := dict(differences(to_plain(manifest.design), to_plain(design), "design")):
        raise StartError(f"{run.path} was planned differently: {named(different)}; bring back the suite that it had")


def _manifest(suite: Suite, runs: Sequence[RunDirectory], changes: dict[str, tuple[Any, Any]]) -> Manifest:
    manifests = [run.manifest for run in runs]
    first = min(manifests, key=lambda manifest: manifest.created)
    selection = replace(from_plain(Selection, first.selection), shard=None)
    plan = Plan(suite, selection)
    unseen = unseen_dimensions(suite, from_plain(AgentManifest, first.agent.manifest))
    sessions = sorted(chain.from_iterable(m.sessions for m in manifests), key=lambda session: session.started)
    if changes and sessions:
        sessions[-1] = replace(sessions[-1], accepted={**sessions[-1].accepted, **changes})
    return replace(
        first,
        design=plan.design,
        planned=plan.count,
        selection=to_plain(selection),
        unseen=tuple(name for name in unseen if name in plan.counts),
        gl=next((m.gl for m in manifests if m.gl), {}),
        sessions=tuple(sessions),
        merged=tuple(chain.from_iterable(m.merged or (_part(run),) for run, m in zip(runs, manifests, strict=True))),
        state="interrupted",
    )


def _part(run: RunDirectory) -> MergedRun:
    manifest = run.manifest
    with run.store(readonly=True) as store:
        episodes = sum(store.counts().values())
    name = run.path.resolve().name
    return MergedRun(name, shard_of(manifest), manifest.created, episodes, manifest.host)


def _add(run: RunDirectory, target: RunDirectory) -> None:
    replaced: list[str] = []
    with run.store(readonly=True) as store:
        merge_episodes(store, target.store(), run.path, replaced.append)
    merge_files(run.path / "artifacts", target.path / "artifacts")
    for episode in replaced:
        replace_file(run.path / transcript_path(episode), target.path / transcript_path(episode))
