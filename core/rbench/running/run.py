"""Runs: a description becomes a plan, episodes, and a run directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from rbench import __version__
from rbench.errors import StartError, StoppedEarly, UsageError
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord
from rbench.results.manifest import AgentUsed, Manifest, Session, SuiteUsed
from rbench.results.provenance import host, versions
from rbench.results.run_directory import RunDirectory
from rbench.running.agents import Resolved, check_agent, check_vision, resolve, spending_limits
from rbench.running.declared import Declared, named_parts
from rbench.running.description import RunDescription
from rbench.running.episode import GOAL_AT_RESET
from rbench.running.executors import Execution, OnWait, unwatched
from rbench.running.interrupts import first_interrupt_only
from rbench.running.job import Job
from rbench.running.learning import declared_for
from rbench.running.plan import Plan
from rbench.running.visibility import check_visibility
from rbench.running.worker import check_world, settle_gl
from rbench.simulation.profiles import render_profile
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.values import to_plain
from rbench.vision.spending import Spending

#: Episodes, the first of a session, whose goal holds before anything was done: then it is not one odd level.
NOTHING_TO_DO = 3


@dataclass(frozen=True)
class PreparedRun:
    """A run that was checked and can start.

    Attributes:
        declared: its agent.
        vision: the vision models that are asked.
        manifest: what the run directory will say; execution fills in what it finds.
        changes: differences to the run so far that were accepted: recorded and new value of each key.
        accept_changes: accept those that only show once episodes run, too.
    """

    description: RunDescription
    suite: Suite
    declared: Declared
    vision: tuple[Resolved, ...]
    plan: Plan
    manifest: Manifest
    execution: Execution
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    accept_changes: bool = False

    @property
    def job(self) -> Job:
        """What workers are given."""
        names = _distributions(self.suite, self.declared)
        return Job(
            # By its source: workers may have another working directory.
            description=replace(self.description, suite=self.suite.source),
            suite_hash=self.suite.hash,
            distributions=names,
            versions=versions(names, commits=False),
            limits=self.execution.limits,
            files=self.declared.files,
            weights=self.declared.manifest.weights,
        )


def prepare(
    catalog: Catalog,
    description: RunDescription,
    execution: Execution | None = None,
    declared: Declared | None = None,
) -> PreparedRun:
    """Check everything that can be wrong before any work is done.

    The agent is made once, to learn what it declares: where the executor would make it, so in this process with the
    serial one, and otherwise in one with the limits of a worker.

    Args:
        declared: what it declares, if that is known.

    Raises:
        UsageError: an unknown name or option, a corrupt suite, zero episodes, an agent that does not fit.
        StartError: a needed plugin or library is not usable.
    """
    execution = Execution() if execution is None else execution
    suite = load_suite(catalog, description.suite)
    _check_names(catalog, suite)
    settle_gl()  # before anything of the agent is imported
    for kind, part in named_parts(description):
        if ":" not in part.name:
            catalog.get(kind, part.name)
    plan = Plan(suite, description.selection)
    if declared is None:
        declared = declared_for(catalog, description, execution)
    description = declared.located(description)
    check_agent(suite, declared.manifest, description.agent.name, declared.cameras_of)
    check_world(suite, declared.manifest, declared.cameras_of)
    unseen = check_visibility(suite, declared.manifest, description.agent.name, list(plan.counts))
    vision = tuple(resolve(catalog, "vision-model", part) for part in declared.asked)
    written = _manifest(description, suite, declared, plan, unseen, execution)
    return PreparedRun(description, suite, declared, vision, plan, written, execution)


def _check_names(catalog: Catalog, suite: Suite) -> None:
    """Refuse a render profile that is first used by a worker, and metrics that are first used when all is done."""
    try:
        render_profile(suite.render)
        known: set[str] = set()
        for name in suite.metrics:
            entry = catalog.get("metric", name)
            if entry.qualified in known:
                raise UsageError(f"metric {name!r} is there twice. Remove one of them.")
            known.add(entry.qualified)
    except UsageError as problem:
        raise UsageError(f"suite {suite.source}: {problem}") from problem


def _manifest(
    description: RunDescription,
    suite: Suite,
    declared: Declared,
    plan: Plan,
    unseen: list[str],
    execution: Execution,
) -> Manifest:
    agent = declared.agent
    return Manifest(
        created=_now(),
        suite=SuiteUsed(suite.name, suite.hash, suite.source),
        design=plan.design,
        render=suite.render,
        agent=AgentUsed(
            **{f.name: getattr(agent, f.name) for f in fields(agent)},
            privileged=declared.manifest.privileged,
            manifest=to_plain(declared.manifest),
        ),
        seed=description.seed,
        planned=plan.count,
        executor=execution.executor,
        workers=execution.at_once,
        limits=to_plain(execution.limits),
        versions=versions(_distributions(suite, declared)),
        host=host(),
        rbench=__version__,
        wrappers=declared.wrappers,
        vision=declared.vision,
        selection=to_plain(description.selection),
        metrics=suite.metrics,
        unseen=tuple(unseen),
        validated=None if suite.validated is None else to_plain(suite.validated),
    )


def _distributions(suite: Suite, declared: Declared) -> tuple[str, ...]:
    """The distributions that episodes need: of agent, wrappers, vision model, factors, and the suite itself."""
    origin, slash, _ = suite.source.partition("/")
    own = [origin] if slash and not suite.source.endswith(".toml") else []
    return tuple(dict.fromkeys([*declared.distributions, *(f.distribution for f in suite.factors.values()), *own]))


def execute(
    prepared: PreparedRun,
    directory: RunDirectory,
    on_finished: Callable[[EpisodeRecord], Any] = lambda record: None,
    on_wait: OnWait = unwatched,
) -> None:
    """Run every planned episode that the directory does not hold yet; each is on disk before it counts.

    Args:
        on_finished: called after each episode is on disk (progress).
        on_wait: called while workers are at something for long (`rbench.running.executors`).

    Raises:
        StoppedEarly, StartError: the run cannot go on; what is done is on disk.
        KeyboardInterrupt: the same, by the user's wish.
    """
    with first_interrupt_only():
        try:
            check_vision(prepared.vision)
            _begin(prepared, directory)
            _run(prepared, directory, on_finished, on_wait)
        except BaseException as problem:
            with suppress(StoppedEarly):  # a full disk, which is what `problem` says then
                directory.update(state="interrupted" if isinstance(problem, KeyboardInterrupt) else "stopped")
            raise
        directory.update(state="finished")


def _begin(prepared: PreparedRun, directory: RunDirectory) -> None:
    session = Session(
        started=_now("milliseconds"),
        done=sum(count for outcome, count in directory.store().counts().items() if outcome != "infrastructure_error"),
        executor=prepared.execution.executor,
        workers=prepared.execution.at_once,
        accepted=prepared.changes,
    )
    written = {f.name: getattr(prepared.manifest, f.name) for f in fields(prepared.manifest)}
    sessions = (*directory.manifest.sessions, session)
    directory.update(**{**written, "sessions": sessions, "state": "running"})


def _run(
    prepared: PreparedRun, directory: RunDirectory, on_finished: Callable[[EpisodeRecord], Any], on_wait: OnWait
) -> None:
    store = directory.store()
    missing = (episode for episode in prepared.plan if not store.is_finished(episode.id))
    executor = prepared.execution.load()
    spending = Spending()
    reasons: Counter[str] = Counter()
    with closing(executor(prepared.job, prepared.suite, missing, prepared.execution.at_once, on_wait)) as results:
        for finished in results:
            _note_renderer(prepared, directory, finished.provenance.get("gl"))
            if finished.transcript is not None:
                directory.keep(finished.transcript.files())
            store.append(finished.record, finished.trajectory)
            prepared.plan.feedback(finished.record)
            on_finished(finished.record)
            spending.add_record(finished.record.agent)
            spent = spending.reached(spending_limits(prepared.vision))
            if spent and directory.counts()["missing"]:
                raise StoppedEarly(spent)
            reasons[finished.record.reason] += 1
            if reasons == {GOAL_AT_RESET: NOTHING_TO_DO}:
                raise StoppedEarly(f"{finished.record.error}. It was so in each of the first {NOTHING_TO_DO} episodes")


def _note_renderer(prepared: PreparedRun, directory: RunDirectory, gl: Mapping[str, Any] | None) -> None:
    """Write down which OpenGL draws, and refuse to go on with another: pictures would differ within the run."""
    recorded = directory.manifest.gl
    if not gl or gl == recorded:
        return
    *earlier, session = directory.manifest.sessions
    if not recorded:
        directory.update(gl=gl)
    elif "gl" not in session.accepted:  # another machine of a cluster may draw otherwise in the same session
        if not prepared.accept_changes:
            raise StartError(
                f"{directory.path} was rendered by {_renderer(recorded)}, but here it is {_renderer(gl)}. Resume"
                " where the first is (MUJOCO_GL chooses), or mix them on purpose with --accept-changes"
            )
        session = replace(session, accepted={**session.accepted, "gl": (recorded, gl)})
        directory.update(gl=gl, sessions=(*earlier, session))


def _renderer(gl: Mapping[str, Any]) -> str:
    return ", ".join(str(value) for value in gl.values())


def _now(precision: str = "seconds") -> str:
    return datetime.now(UTC).isoformat(timespec=precision)
