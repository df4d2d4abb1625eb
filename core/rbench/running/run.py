"""Runs: a description becomes a plan, episodes, and a run directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from rbench import __version__
from rbench.design import Episode
from rbench.interfaces.agent import AgentManifest
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord
from rbench.results.manifest import AgentUsed, Manifest, SuiteUsed
from rbench.results.provenance import host, versions
from rbench.results.run_directory import RunDirectory
from rbench.running.agents import ResolvedAgent, build_agent, check_agent, effective_manifest, resolve_agent
from rbench.running.description import RunDescription
from rbench.running.executors.serial import run_serial
from rbench.running.plan import Plan
from rbench.running.visibility import check_visibility
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.values import to_plain


@dataclass(frozen=True)
class PreparedRun:
    """A run that was checked and can start: suite, agent parts, plan, and the manifest of the run directory."""

    suite: Suite
    parts: ResolvedAgent
    plan: Plan
    manifest: Manifest


def prepare(catalog: Catalog, description: RunDescription) -> PreparedRun:
    """Check everything that can be wrong before any work is done.

    Raises:
        UsageError: an unknown name or option, a corrupt suite, zero episodes, an agent that does not fit.
        StartError: a needed plugin or library is not usable.
    """
    suite = load_suite(catalog, description.suite)
    parts = resolve_agent(catalog, description)
    plan = Plan(suite, description.selection)
    agent = build_agent(parts)
    try:
        manifest = effective_manifest(agent)
        check_agent(suite, manifest, description.agent.name)
        unseen = check_visibility(suite, manifest, description.agent.name, list(plan.counts))
    finally:
        agent.close()
    return PreparedRun(suite, parts, plan, _manifest(description, suite, parts, plan, manifest, unseen))


def _manifest(
    description: RunDescription,
    suite: Suite,
    parts: ResolvedAgent,
    plan: Plan,
    agent_manifest: AgentManifest,
    unseen: list[str],
) -> Manifest:
    distributions = [*parts.distributions, *(factor.distribution for factor in suite.factors.values())]
    agent = parts.agent.used()
    return Manifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        suite=SuiteUsed(suite.name, suite.hash, suite.source),
        design=plan.design,
        render=suite.render,
        agent=AgentUsed(
            **{f.name: getattr(agent, f.name) for f in fields(agent)},
            privileged=agent_manifest.privileged,
            manifest=to_plain(agent_manifest),
        ),
        seed=description.seed,
        planned=plan.count,
        executor="serial",
        workers=1,
        versions=versions(distributions),
        host=host(),
        rbench=__version__,
        wrappers=tuple(wrapper.used() for wrapper in parts.wrappers),
        vision=parts.vision.used() if parts.vision else None,
        selection=to_plain(description.selection),
        metrics=suite.metrics,
        unseen=tuple(unseen),
    )


def execute(
    prepared: PreparedRun,
    directory: RunDirectory,
    on_finished: Callable[[EpisodeRecord], Any] = lambda record: None,
) -> None:
    """Run every planned episode that the directory does not hold yet; each is on disk before it counts.

    Args:
        on_finished: called after each episode is on disk (progress).

    Raises:
        StoppedEarly, StartError: the run cannot go on; what is done is on disk.
        KeyboardInterrupt: the same, by the user's wish.
    """
    store = directory.store()
    missing = _missing(prepared.plan, store.finished())
    directory.update(state="running")
    try:
        with closing(run_serial(prepared.suite, prepared.parts, prepared.manifest.seed, missing)) as results:
            for finished in results:
                store.append(finished.record, finished.trajectory)
                if finished.provenance.get("gl") and not directory.manifest.gl:
                    directory.update(gl=finished.provenance["gl"])
                prepared.plan.feedback(finished.record)
                on_finished(finished.record)
    except KeyboardInterrupt:
        directory.update(state="interrupted")
        raise
    except BaseException:
        directory.update(state="stopped")
        raise
    directory.update(state="finished")


def _missing(plan: Iterable[Episode], done: set[str]) -> Iterator[Episode]:
    return (episode for episode in plan if episode.id not in done)
