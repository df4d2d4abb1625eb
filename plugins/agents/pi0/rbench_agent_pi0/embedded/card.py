"""The card of a checkpoint: what it was trained on, how, and what it does in runs that were made with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from scipy.stats import binomtest

from rbench import open_run
from rbench.record import EpisodeRecord
from rbench_agent_pi0.embedded.checkpoint import Head
from rbench_agent_pi0.embedded.network import Network

#: What counts: an episode that could not be run says nothing of a policy.
COUNTED = ("success", "failure", "agent_error", "unstable")
#: Points of the curve that the card shows.
POINTS = 8


def card(head: Head, size: int, runs: Sequence[Path]) -> str:
    """A page of Markdown.

    Args:
        size: of the checkpoint's file, bytes.
        runs: run directories, each a section.
    """
    recipe, data, curve = (head.training[name] for name in ("recipe", "data", "curve"))
    design = head.design
    eyes = "; ".join(f"{eye.camera}, crop {_crop(eye.crop)}, {eye.size} x {eye.size}" for eye in design.eyes)
    with torch.device("meta"):
        parameters = sum(parameter.numel() for parameter in Network(design).parameters())
    how = ", ".join(f"{name} {value:g}" for name, value in recipe["augmentation"].items())
    rows = {
        "model": f"rbench-pi0 {head.name}: {parameters:,} parameters, {size / 1e6:.2f} MB in half precision. A compact"
        " policy trained by rbench from nothing; it is not openpi's pi0 and shares no weight or code with it",
        "sees": f"{eyes} (of {design.picture} x {design.picture} pictures); joints, gripper; {len(design.words)} words",
        "does": f"chunks of {design.chunk} joint targets and gripper at {design.rate} Hz, {design.steps} Euler steps",
        "demonstrations": f"{data['demonstrations']} of {data['suite']} by {data['agent']}, {data['held_out']} of them"
        f" held out; {data['frames']:,} moments; collected with seed {data['seed']}",
        "content": f"SHA-256 of its pictures and actions as read: {data['content']}",
        "instructions": " / ".join(data["instructions"]) + " They mean the same: none can matter to this policy",
        "trained": f"{recipe['steps']:,} steps of {recipe['batch']}, rate {recipe['rate']:g} with {recipe['warm_up']}"
        f" steps of warm-up and a cosine, seed {recipe['seed']}; {curve[-1]['seconds'] / 60:.1f} minutes of processor"
        " time in one thread"
        if curve
        else "not at all",
        "augmentation": how,
        "command": f"`{command_of(head)}`",
    }
    lines = [f"# rbench-pi0 {head.name}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in rows.items()]
    lines += ["", "| step | processor minutes | loss | held-out loss |", "|---|---|---|---|"]
    shown = curve[:: max(1, len(curve) // POINTS)]
    shown += [] if not curve or shown[-1] == curve[-1] else [curve[-1]]
    lines += [f"| {p['step']} | {p['seconds'] / 60:.1f} | {p['loss']:.4f} | {p['held_out']:.4f} |" for p in shown]
    for path in runs:
        lines += ["", *_section(path)]
    return "\n".join(lines) + "\n"


def command_of(head: Head) -> str:
    """The command that trains this checkpoint again."""
    recipe = head.training["recipe"]
    changes = recipe["augmentation"]
    parts = [f"rbench-pi0 train DEMONSTRATIONS -o DIR --name {head.name}", f"--steps {recipe['steps']}"]
    parts += [f"--batch {recipe['batch']}", f"--seed {recipe['seed']}", f"--every {recipe['every']}"]
    parts += [f"--demonstrations {head.training['data']['demonstrations']}"]
    return " ".join(parts + [f"--{name} {changes[name]:g}" for name in ("hue", "saturation", "shift", "blind")])


def _section(path: Path) -> list[str]:
    with open_run(path) as run:
        manifest = run.manifest
        records = [record for record in run.episodes() if str(record.outcome) in COUNTED]
    options = ", ".join(f"{key}={value}" for key, value in manifest.agent.options.given.items()) or "defaults"
    wrappers = "".join(f" in {wrapper.name}" for wrapper in manifest.wrappers)
    lines = [f"## {manifest.suite.name}: {manifest.agent.name} ({options}){wrappers}, seed {manifest.seed}", ""]
    lines += ["| | success | 95 % (Wilson) |", "|---|---|---|", _row("all", records)]
    for title, key in (("context", _context), ("shape", _shape)):
        groups = sorted({key(record) for record in records})
        lines += [_row(f"{title} {name}", [r for r in records if key(r) == name]) for name in groups]
    return lines


def _row(name: str, records: Iterable[EpisodeRecord]) -> str:
    outcomes = [str(record.outcome) == "success" for record in records]
    if not outcomes:
        return f"| {name} | 0/0 | |"
    low, high = binomtest(sum(outcomes), len(outcomes)).proportion_ci(0.95, method="wilson")
    return f"| {name} | {sum(outcomes)}/{len(outcomes)} | {100 * low:.0f} to {100 * high:.0f} % |"


def _context(record: EpisodeRecord) -> str:
    return record.context


def _shape(record: EpisodeRecord) -> str:
    return str(record.levels.get("shape", "-"))


def _crop(crop: tuple[Any, ...]) -> str:
    return "whole" if tuple(crop) == (0.0, 0.0, 1.0, 1.0) else "({:g}, {:g}, {:g}, {:g})".format(*crop)
