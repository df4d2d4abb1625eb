"""Runs of roboview-bias that nobody ran: whole run directories with made-up, plausible biases, for looking at reports.

Outcomes are drawn from a logistic model: colour (saturation, lightness), pose, angles, distance, context, and an effect
of the block, which all levels share. The same arguments give the same run.
"""

from __future__ import annotations

import argparse
import colorsys
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rbench import __version__
from rbench.plugins.catalog import build_catalog
from rbench.record import EpisodeRecord, Event, Hashes, Outcome
from rbench.results.manifest import AgentUsed, Manifest, PartUsed, SuiteUsed
from rbench.results.provenance import host, versions
from rbench.results.run_directory import RunDirectory
from rbench.running.jitter import block_jitter
from rbench.running.plan import Plan, Selection
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.values import to_plain


@dataclass(frozen=True)
class Profile:
    """What an imaginary agent is good at, in logits."""

    skill: float
    saturation: float = 0.0
    darkness: float = 0.0
    elevation: float = 0.0
    azimuth: float = 0.0
    turn: float = 0.0
    distance: float = 0.0
    pose_and_color: float = 0.0
    block: float = 0.6
    reasons: Mapping[str, float] = field(
        default_factory=lambda: {
            "time_limit": 4,
            "object_not_found": 3,
            "box_not_found": 1,
            "no_grasp": 2,
            "gave_up after 3 attempts": 1,
        }
    )
    errors: float = 0.0


PROFILES = {
    "moka": Profile(0.4, saturation=2.6, darkness=0.5, elevation=1.2, azimuth=0.7, turn=0.06, distance=-2.0),
    "simple": Profile(0.5, saturation=1.4, elevation=2.0, azimuth=1.3, turn=0.17, distance=-3.5, pose_and_color=1.5),
    "pi0": Profile(0.7, saturation=0.6, elevation=0.9, azimuth=1.6, turn=0.02, distance=-3.0, errors=0.002),
    "steady": Profile(1.2),
}


def write_run(
    place: Path,
    suite: Suite,
    agent: str,
    wrappers: tuple[str, ...] = (),
    selection: Selection | None = None,
    limit: int | None = None,
    fast_disk: bool = True,
    profile: Profile | None = None,
) -> Path:
    """Write a run directory.

    Args:
        place: a folder that does not exist.
        wrappers: `sgl` makes colour matter less.
        limit: write only so many of the planned episodes: a half-finished run.
        fast_disk: do not wait for the disk after every episode; a power cut would damage the file.
    """
    plan = Plan(suite, selection or Selection())
    manager = RecursiveVariantTaskManager(suite)
    profile = profile or PROFILES[agent]
    if "sgl" in wrappers:
        profile = Profile(**{**vars(profile), "saturation": profile.saturation * 0.3, "skill": profile.skill + 0.5})
    rng = np.random.default_rng([ord(c) for c in agent + "".join(wrappers)])
    manifest = _manifest(suite, plan, agent, wrappers)
    with RunDirectory.create(place, manifest) as run:
        store = run.store()
        if fast_disk:
            store._connection.execute("PRAGMA synchronous = OFF")
        for number, record in enumerate(_records(suite, plan, manager, profile, rng)):
            if number == limit:
                break
            store.append(record, b"")
        run.update(state="finished" if limit is None or limit >= plan.count else "interrupted")
    return place


def _manifest(suite: Suite, plan: Plan, agent: str, wrappers: tuple[str, ...]) -> Manifest:
    camera = {"height": 224, "width": 224, "channels": ["rgb", "depth"]}
    return Manifest(
        created="2026-03-05T09:30:00+00:00",
        suite=SuiteUsed(suite.name, suite.hash, suite.source),
        design=plan.design,
        render=suite.render,
        agent=AgentUsed(
            agent,
            f"rbench-agent-{agent}/{agent}",
            f"rbench-agent-{agent}",
            "0.1.0",
            manifest={"cameras": {"front": camera}, "primary": "front", "kinds": ["manipulation"], "control_rate": 20},
        ),
        wrappers=tuple(PartUsed(w, f"rbench-agent-{w}/{w}", f"rbench-agent-{w}", "0.1.0") for w in wrappers),
        vision=None if agent == "pi0" else PartUsed("opencv", "rbench/opencv", "rbench", __version__),
        seed=0,
        planned=plan.count,
        selection=to_plain(plan.selection),
        executor="processes",
        workers=2,
        versions=versions(commits=False),
        host=host(),
        rbench=__version__,
        metrics=suite.metrics,
        gl={"backend": "egl", "vendor": "Mesa", "renderer": "llvmpipe", "version": "4.5"},
    )


def _records(
    suite: Suite, plan: Plan, manager: RecursiveVariantTaskManager, profile: Profile, rng: np.random.Generator
) -> Iterator[EpisodeRecord]:
    contexts = {name: rng.normal(0, 0.4) for name in sorted({c.name for c in plan.design.contexts})}
    blocks: dict[tuple[str, int], float] = {}
    quirks: dict[str, float] = {}
    for episode in plan:
        instance = episode.instance
        values = manager.values(instance)
        block = blocks.setdefault((instance.context, episode.repeat), rng.normal(0, profile.block))
        chance = 1 / (1 + math.exp(-_logit(profile, values, instance.levels) - contexts[instance.context] - block))
        if profile.saturation:
            chance += quirks.setdefault(instance.levels["color"], rng.normal(0, 0.04))
        outcome: Outcome = "success" if rng.random() < chance else "failure"
        if rng.random() < profile.errors:
            outcome = "agent_error"
        reason = _reason(profile, outcome, rng)
        events = _events(outcome, reason, rng)
        error = "ValueError: chunk has 6 columns, not 8" if outcome == "agent_error" else None
        steps = int(rng.integers(90, 130)) if outcome == "success" else 300 if reason == "time_limit" else 40
        yield EpisodeRecord(
            episode=episode.id,
            instance=instance.id,
            repeat=episode.repeat,
            task=instance.task,
            dimension=instance.dimension,
            context=instance.context,
            levels=instance.levels,
            values=to_plain(values),
            jitter=block_jitter(suite, instance, episode.repeat, 0),
            seed=0,
            outcome=outcome,
            reason=reason,
            success=outcome == "success",
            score=1.0 if outcome == "success" else 0.5 if any(e.name == "grasped" for e in events) else 0.0,
            steps=steps,
            sim_seconds=steps / 20,
            events=events,
            instruction=manager.setup(instance).instruction,
            hashes=Hashes("", ""),
            error=error,
            agent={"calls": int(rng.integers(1, 5)), "clipped": 0},
            timing={"total": 0.5},
        )


def _logit(profile: Profile, values: Mapping[str, Any], levels: Mapping[str, str]) -> float:
    _, lightness, _ = colorsys.rgb_to_hls(*(c / 255 for c in values["color"]))
    hue, saturation, value = colorsys.rgb_to_hsv(*(c / 255 for c in values["color"]))
    vivid = saturation * value
    logit = profile.skill + profile.saturation * (vivid - 0.5) - profile.darkness * (lightness < 0.2)
    logit -= 0.5 * profile.saturation * (abs(hue - 0.14) < 0.05) * (saturation > 0.3)  # like the yellow box
    pose = levels["camera-pose"]
    if pose != "default":
        ring, angle = int(pose[1]) - 2, int(pose[3]) - 4
        logit += profile.elevation * (0.6 * ring - 0.3) - profile.azimuth * abs(angle + 0.7) * 0.55
        logit -= profile.pose_and_color * (1 - vivid) * abs(angle) * 0.5
    yaw, pitch = values["camera-euler"]
    logit -= profile.turn * (abs(yaw - 1) + 1.4 * abs(pitch + 2))
    return float(logit + profile.distance * values["camera-distance"] * 3)


def _reason(profile: Profile, outcome: Outcome, rng: np.random.Generator) -> str:
    if outcome == "success":
        return "goal"
    if outcome == "agent_error":
        return "wrong_chunk"
    weights = np.array(list(profile.reasons.values()), float)
    return str(rng.choice(list(profile.reasons), p=weights / weights.sum()))


def _events(outcome: Outcome, reason: str, rng: np.random.Generator) -> tuple[Event, ...]:
    grasped = outcome == "success" or (reason == "time_limit" and rng.random() < 0.5)
    names = ["grasped", "subtask_reached", "dropped"] if grasped else []
    names += ["unreachable"] if rng.random() < 0.05 else []
    names += ["goal_confirmed"] if outcome == "success" else []
    return tuple(Event(round(1.5 + i * 0.7, 2), name, "") for i, name in enumerate(names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a new folder for the runs")
    arguments = parser.parse_args()
    suite = load_suite(build_catalog(), "roboview-bias")
    for agent, wrappers in (("moka", ()), ("moka", ("sgl",)), ("simple", ()), ("pi0", ())):
        print(write_run(arguments.folder / "-".join((*wrappers, agent)), suite, agent, wrappers))
    print(write_run(arguments.folder / "half", suite, "simple", limit=2000))


if __name__ == "__main__":
    main()
