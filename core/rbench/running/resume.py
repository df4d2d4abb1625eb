"""Resuming: a run directory becomes a prepared run again, or says what has changed since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from rbench.design import Dimension
from rbench.errors import RbenchError, StartError, UsageError
from rbench.plugins.catalog import Catalog
from rbench.results.manifest import Manifest
from rbench.results.provenance import versions
from rbench.results.run_directory import RunDirectory
from rbench.running.description import description_of
from rbench.running.differences import differences, named
from rbench.running.executors import Execution
from rbench.running.limits import Limits
from rbench.running.plan import Plan, Selection
from rbench.running.run import PreparedRun, prepare

#: What of a manifest decides its records, or says with what they were made. `agent` and the like hold options.
_COMPARED = ("suite", "design", "render", "agent", "wrappers", "vision", "seed", "planned", "versions")


def prepare_resume(
    catalog: Catalog,
    run: RunDirectory,
    *,
    repeats: int | None = None,
    limit: int | None = None,
    execution: Execution | None = None,
    accept_changes: bool = False,
) -> PreparedRun:
    """Prepare what is missing of a run, with nothing but its directory.

    Args:
        repeats, limit: more than the run was made with, or None for the same.
        execution: where to run; None: as before, limits too, with the number of workers that this machine suggests.
        accept_changes: go on although something differs, and write down what.

    Raises:
        StartError: something differs from what the run was made with; names the keys and both values.
        UsageError: repeats or limit that would make the run smaller.
    """
    recorded = run.manifest
    where = str(run.path / "manifest.json")
    description = description_of(recorded, where)
    if execution is None:
        execution = Execution(recorded.executor, limits=recorded_limits(recorded))
    older = _version_changes(recorded)
    try:
        prepared = prepare(catalog, description, execution)
    except RbenchError as problem:
        if older:  # the likeliest reason
            raise StartError(f"{problem} What differs from the run: {named(older)}") from problem
        raise
    changes = dict(_changes(recorded, prepared.manifest))
    if changes and not accept_changes:
        raise StartError(
            f"{run.path} cannot go on as it began: {named(changes)}. Bring back what was used (it is in"
            " manifest.json), start a new run, or mix on purpose with --accept-changes"
        )
    if repeats is not None or limit is not None:
        prepared = _extended(catalog, prepared, repeats, limit)
    manifest = replace(prepared.manifest, created=recorded.created, gl=recorded.gl)
    return replace(prepared, manifest=manifest, changes=changes, accept_changes=accept_changes)


def recorded_limits(recorded: Manifest) -> Limits:
    """The limits of a run's workers so far; the defaults when it was made by an rbench that had none."""
    known = {f.name for f in fields(Limits)}
    return Limits(**{name: value for name, value in recorded.limits.items() if name in known})


def _version_changes(recorded: Manifest) -> dict[str, tuple[Any, Any]]:
    """What is installed in other versions than the run had, or no longer. Asks for nothing that needs a plugin."""
    return dict(differences(recorded.versions, versions(recorded.versions), "versions"))


def _changes(recorded: Manifest, now: Manifest) -> Iterator[tuple[str, tuple[Any, Any]]]:
    # As they would be written, without secrets: these cannot be compared.
    before, after = recorded.to_plain(), now.to_plain()
    for key in _COMPARED:
        yield from differences(before[key], after[key], key)


def _extended(catalog: Catalog, prepared: PreparedRun, repeats: int | None, limit: int | None) -> PreparedRun:
    """The same run with more repeats or a later limit: all that it has stays part of its plan."""
    before = prepared.description.selection
    selection = replace(
        before,
        repeats=before.repeats if repeats is None else repeats,
        limit=before.limit if limit is None else limit,
    )
    if limit is not None and before.limit is None:
        raise UsageError(f"--limit {limit}: the run has no limit, so it cannot grow by one; leave --limit out")
    if limit is not None and before.limit is not None and limit < before.limit:
        raise UsageError(f"--limit {limit} is less than the {before.limit} of the run; give {before.limit} or more")
    if repeats is not None:
        _check_repeats(prepared.plan, before, repeats)
    grown = replace(prepared.description, selection=selection)
    return prepare(catalog, grown, prepared.execution, prepared.declared)


def _check_repeats(plan: Plan, selection: Selection, repeats: int) -> None:
    most: Dimension = max(plan.dimensions, key=lambda dimension: dimension.repeats)
    if repeats < most.repeats:
        raise UsageError(f"--repeats {repeats} is less than dimension {most.name!r} has; give {most.repeats} or more")
    fewest = min(dimension.repeats for dimension in plan.dimensions)
    # All of one repeat come before the next. While every dimension takes part, more repeats change nothing before
    # the limit; behind that they would push episodes out that the run has.
    common = Plan(plan.suite, replace(selection, limit=None, repeats=fewest, shard=None)).count
    beyond = selection.shard is not None if selection.limit is None else selection.limit > common
    if beyond and fewest < most.repeats:
        part = f"limited to {selection.limit} episodes" if selection.limit else f"shard {selection.shard} of its plan"
        raise UsageError(
            f"--repeats {repeats}: this run is {part}, some of them in repeats that not all dimensions have, and more"
            " repeats would change which they are; start a new run"
        )
