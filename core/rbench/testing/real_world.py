"""Checks in the real world, through the machinery of runs."""

from __future__ import annotations

from rbench.errors import RbenchError
from rbench.record import EpisodeRecord, identical
from rbench.running.agents import check_agent
from rbench.running.plan import Plan, Selection
from rbench.running.visibility import unseen_dimensions
from rbench.running.worker import Worker
from rbench.testing.checks import CheckFailed, CheckSkipped, check
from rbench.testing.subjects import SUITE, AgentSubject

#: Episodes of the suite that are run.
EPISODES = 3


@check("real-episodes")
def real_episodes(subject: AgentSubject) -> str:
    """Episodes of roboview-bias end in success or failure, not in an agent error."""
    records = _records(subject)
    for record in records:
        if record.outcome == "agent_error":
            raise CheckFailed(f"episode {record.episode!r}: {record.error}", "do what the message says")
        if record.outcome not in ("success", "failure"):
            raise CheckSkipped(f"episode {record.episode!r} ended as {record.outcome}: {record.error}")
    return ", ".join(f"{record.outcome} ({record.reason})" for record in records)


@check("real-repeats")
def real_repeats(subject: AgentSubject) -> None:
    """Episodes run again by another instance in another world, in another order, give identical records."""
    first = {record.episode: record for record in _records(subject)}
    for record in _records(subject, backwards=True):
        if not identical(record, first[record.episode]):
            before, after = first[record.episode].to_plain(), record.to_plain()
            keys = [key for key in before if key != "timing" and before[key] != after[key]]
            raise CheckFailed(
                f"the record of episode {record.episode!r} differs in {', '.join(keys)}",
                "see the checks 'deterministic' and 'no-carry-over'",
            )


CHECKS = (real_episodes, real_repeats)


def _records(subject: AgentSubject, *, backwards: bool = False) -> list[EpisodeRecord]:
    if (problem := subject.real_world_problem) is not None:
        raise CheckSkipped(f"not played in the real world: {problem}")
    suite, manifest = subject.suite, subject.manifest
    try:
        check_agent(suite, manifest, subject.name)
    except RbenchError as problem:
        raise CheckSkipped(str(problem)) from problem
    unseen = [] if manifest.privileged else unseen_dimensions(suite, manifest)
    seen = tuple(dimension.name for dimension in suite.dimensions if dimension.name not in unseen)
    if not seen:
        raise CheckSkipped(f"its cameras show nothing that {SUITE} varies")
    episodes = list(Plan(suite, Selection(dimensions=seen, limit=EPISODES)))
    worker = Worker(suite, subject.parts, seed=0)
    try:
        return [worker.run(episode).record for episode in (episodes[::-1] if backwards else episodes)]
    finally:
        worker.close()
