"""Gathering: the run of a collection, extended until enough of its episodes have succeeded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rbench.collecting.collecting_suite import pattern_of, write_collecting_suite
from rbench.collecting.collection import Collection, Place
from rbench.errors import StoppedEarly, UsageError
from rbench.plugins.catalog import Catalog
from rbench.results.run_directory import RunDirectory
from rbench.running.declared import Declared
from rbench.running.description import Part, RunDescription
from rbench.running.executors import Execution
from rbench.running.plan import Plan, Selection
from rbench.running.resume import prepare_resume
from rbench.running.run import PreparedRun, execute, prepare
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite

#: Given up when so many attempts for each wanted demonstration, and a few more, were not enough.
ATTEMPTS, FEW = 3, 10


@dataclass(frozen=True)
class Gathered:
    """The run of a collection with enough successes.

    Attributes:
        chosen: ids of the wanted number of episodes that succeeded, the first ones in plan order: which they are
            depends on no worker and no interruption.
        attempts: planned episodes up to the last chosen one. failures: those of them that did not succeed, by outcome.
    """

    run: RunDirectory
    suite: Suite
    chosen: tuple[str, ...]
    attempts: int
    failures: dict[str, int]


def gather(
    catalog: Catalog,
    collection: Collection,
    place: Place,
    execution: Execution,
    accept_changes: bool = False,
    run_it: Callable[[PreparedRun, RunDirectory], None] = execute,
    declared: Declared | None = None,
) -> Gathered:
    """Run, or go on with, the episodes of a collection.

    Args:
        accept_changes: go on although versions differ from those it began with.
        run_it: executes what is missing of a prepared run (with progress, say).
        declared: what the agent of a new run declares, if that is known.

    Raises:
        StoppedEarly: episodes are missing; the same call goes on.
        UsageError: the agent does not act at the collection's rate, or succeeds too seldom.
    """
    if not place.suite.exists():
        original = load_suite(catalog, collection.suite)
        write_collecting_suite(catalog, original, place.suite, collection.jitter_xy, collection.jitter_yaw)
    suite = load_suite(catalog, str(place.suite))
    limit = collection.episodes
    while True:
        directory, prepared = _prepared(catalog, collection, place, suite, limit, execution, accept_changes, declared)
        with directory:
            run_it(prepared, directory)
        gathered = _chosen(directory, suite, prepared.plan, collection.episodes)
        lacking = collection.episodes - len(gathered.chosen)
        if not lacking:
            return gathered
        if gathered.attempts >= ATTEMPTS * collection.episodes + FEW:
            raise UsageError(
                f"agent {collection.agent.name!r} succeeded in {len(gathered.chosen)} of {gathered.attempts} episodes,"
                f" and {collection.episodes} demonstrations are wanted; choose an agent that solves the task, or fewer"
                " --episodes in another folder"
            )
        limit = max(prepared.plan.count, limit) + lacking


def declared_for(catalog: Catalog, collection: Collection, suite: Suite, execution: Execution) -> Declared:
    """What the agent of a new collection declares, with everything checked that its run could be refused for.

    Args:
        suite: the one that is collected in; its own file stands in for that of the collection, which is yet to be
            written.

    Raises:
        RbenchError: suite, agent, options or rate do not fit, as `gather` says it.
    """
    return _first(catalog, collection, suite, collection.episodes, execution).declared


def with_rate(catalog: Catalog, agent: Part, rate: int) -> Part:
    """The agent with its option `control_rate` set, if it has that option and nobody has set it."""
    model = catalog.get("agent", agent.name).options_model() if ":" not in agent.name else None
    if model is None or "control_rate" not in model.model_fields or "control_rate" in agent.options:
        return agent
    return replace(agent, options={**agent.options, "control_rate": rate})


def _prepared(
    catalog: Catalog,
    collection: Collection,
    place: Place,
    suite: Suite,
    limit: int,
    execution: Execution,
    accept_changes: bool,
    declared: Declared | None,
) -> tuple[RunDirectory, PreparedRun]:
    if place.begun:
        directory = RunDirectory.open(place.run)
        directory.store()  # from here on this process is the writer, or knows who is
        before = int(directory.manifest.selection.get("limit") or 0)
        try:
            prepared = prepare_resume(
                catalog, directory, limit=max(limit, before), execution=execution, accept_changes=accept_changes
            )
        except BaseException:
            directory.close()
            raise
        return directory, prepared
    prepared = _first(catalog, collection, suite, limit, execution, declared)
    return RunDirectory.create(place.run, prepared.manifest), prepared


def _first(
    catalog: Catalog,
    collection: Collection,
    suite: Suite,
    limit: int,
    execution: Execution,
    declared: Declared | None = None,
) -> PreparedRun:
    description = RunDescription(
        suite=suite.source,
        agent=collection.agent,
        selection=Selection(instances=(pattern_of(suite),), limit=limit),
        seed=collection.seed,
    )
    prepared = prepare(catalog, description, execution, declared)
    rate = prepared.manifest.agent.manifest["control_rate"]
    if rate != collection.rate:
        raise UsageError(
            f"agent {collection.agent.name!r} acts at {rate} Hz, and {collection.rate} Hz are wanted; give --rate"
            f" {rate}, or set the rate by an option of the agent"
        )
    return prepared


def _chosen(run: RunDirectory, suite: Suite, plan: Plan, wanted: int) -> Gathered:
    """The first successes in plan order."""
    with run.store(readonly=True) as store:
        outcomes = {record["episode"]: str(record["outcome"]) for record in store.plain_records(counted_only=True)}
    chosen: list[str] = []
    failures: dict[str, int] = {}
    attempts = 0
    for episode in plan:
        if len(chosen) == wanted:
            break
        attempts += 1
        outcome = outcomes.get(episode.id)
        if outcome is None:
            raise StoppedEarly(
                f"episode {episode.id} could not be run (see `rbench status {run.path}`); mend what is in the way and"
                " give the same command again"
            )
        if outcome == "success":
            chosen.append(episode.id)
        else:
            failures[outcome] = failures.get(outcome, 0) + 1
    return Gathered(run, suite, tuple(chosen), attempts, failures)
