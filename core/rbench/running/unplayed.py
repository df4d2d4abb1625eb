"""The record of an episode before anything happened in it."""

from __future__ import annotations

from rbench.design import Episode
from rbench.record import EpisodeRecord, Hashes, Outcome
from rbench.running.jitter import block_jitter
from rbench.scene import jittered
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager


def unplayed_record(
    suite: Suite,
    manager: RecursiveVariantTaskManager,
    episode: Episode,
    seed: int,
    *,
    outcome: Outcome,
    reason: str,
    error: str | None,
) -> EpisodeRecord:
    """Everything about an episode that follows from suite and seed alone; the rest is empty.

    What happened is filled in by whoever played it. As it is, it is the record of an episode whose worker was lost.
    """
    instance = episode.instance
    setup = manager.setup(instance)
    jitter = block_jitter(suite, instance, episode.repeat, seed)
    return EpisodeRecord(
        episode=episode.id,
        instance=instance.id,
        repeat=episode.repeat,
        task=instance.task,
        dimension=instance.dimension,
        context=instance.context,
        levels=dict(instance.levels),
        values=manager.values(instance),
        jitter=jitter,
        seed=seed,
        outcome=outcome,
        reason=reason,
        success=outcome == "success",
        score=0.0,
        steps=0,
        sim_seconds=0.0,
        events=(),
        instruction=setup.instruction,
        hashes=Hashes(scene=jittered(setup, jitter).scene.hash(), state=""),
        error=error,
        agent={"calls": 0, "clipped": 0, "report": {}},
    )
