"""The card of a checkpoint: what it was trained on, how, and what it does in runs that were made with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from rbench import open_run
from rbench.errors import UsageError, visible
from rbench.record import EpisodeRecord
from rbench_agent_pi0.embedded.checkpoint import Head, digest_of, read_checkpoint
from rbench_agent_pi0.embedded.trained import Trained

#: What counts: an episode that could not be run says nothing of a policy.
COUNTED = ("success", "failure", "agent_error", "unstable")
#: Points of the curve that the card shows.
POINTS = 8


def card(path: Path, runs: Sequence[Path]) -> str:
    """A page of Markdown.

    Args:
        path: of the checkpoint.
        runs: run directories, each a section.

    Raises:
        StartError: it is no checkpoint. UsageError: a run was made with other weights.
    """
    network, head = read_checkpoint(path)
    recipe, data, curve = head.trained.recipe, head.trained.data, head.trained.curve
    design = head.design
    eyes = "; ".join(f"{_cell(eye.camera)}, crop {_crop(eye.crop)}, {eye.size} x {eye.size}" for eye in design.eyes)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    rows = {
        "model": f"rbench-pi0 {head.name}: {parameters:,} parameters, {path.stat().st_size / 1e6:.2f} MB in half"
        " precision. A compact policy trained by rbench from nothing; it is not openpi's pi0 and shares no weight or"
        " code with it",
        "sees": f"{eyes} (of {design.picture} x {design.picture} pictures); joints, gripper; {len(design.words)} words",
        "does": f"chunks of {design.chunk} joint targets and gripper at {design.rate} Hz, {design.steps} Euler steps",
        "demonstrations": f"{data.demonstrations} of {_cell(data.suite)} by {_cell(data.agent)}, {data.held_out} of"
        f" them held out; {data.frames:,} moments; collected with seed {data.seed}",
        "content": f"SHA-256 of its pictures and actions as read: {_cell(data.content)}",
        "instructions": " / ".join(map(_cell, data.instructions))
        + " They mean the same: none can matter to this policy",
        "trained": f"{recipe.steps:,} steps of {recipe.batch}, rate {recipe.rate:g} with {recipe.warm_up} steps of"
        f" warm-up and a cosine, seed {recipe.seed}; {curve[-1].seconds / 60:.1f} minutes of processor time in"
        f" {_threads(head.trained)}"
        if curve
        else "not at all",
        "augmentation": ", ".join(f"{name} {value:g}" for name, value in asdict(recipe.augmentation).items()),
        "command": f"`{command_of(head)}`",
    }
    lines = [f"# rbench-pi0 {head.name}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in rows.items()]
    lines += ["", "| step | processor minutes | loss | held-out loss |", "|---|---|---|---|"]
    shown = list(curve[:: max(1, len(curve) // POINTS)])
    shown += [] if not curve or shown[-1] == curve[-1] else [curve[-1]]
    lines += [f"| {p.step} | {p.seconds / 60:.1f} | {p.loss:.4f} | {p.held_out:.4f} |" for p in shown]
    digest = digest_of(path)
    for run in runs:
        lines += ["", *_section(run, digest)]
    return "\n".join(lines) + "\n"


def command_of(head: Head) -> str:
    """The command that trains this checkpoint again."""
    trained = head.trained
    recipe, changes = trained.recipe, asdict(trained.recipe.augmentation)
    parts = [f"rbench-pi0 train DEMONSTRATIONS -o DIR --name {head.name}", f"--steps {recipe.steps}"]
    parts += [f"--batch {recipe.batch}", f"--seed {recipe.seed}", f"--every {recipe.every}"]
    parts += [f"--demonstrations {trained.data.demonstrations}"]
    parts += [f"--{name} {changes[name]:g}" for name in ("hue", "saturation", "shift", "blind")]
    parts += [f"--threads {trained.threads}"] if trained.threads != 1 else []
    parts += [f"--device {trained.device}"] if trained.device != "cpu" else []
    return " ".join(parts)


def _threads(trained: Trained) -> str:
    threads = "one thread" if trained.threads == 1 else f"{trained.threads} threads"
    return threads if trained.device == "cpu" else f"{threads} beside {_cell(trained.device)}"


def _cell(text: str) -> str:
    """A text that stands in a table of Markdown as it is."""
    return "".join(f"\\{c}" if c in "|`*<>[]\\" else c for c in " ".join(visible(text).split()))


def _section(path: Path, digest: str) -> list[str]:
    with open_run(path) as run:
        manifest = run.manifest
        records = [record for record in run.episodes() if str(record.outcome) in COUNTED]
    for record in records:
        report = record.agent.get("report") or {}
        answered = list((report.get("weights") or {}).values())
        if digest not in answered and not (manifest.agent.options.given.keys() & {"host", "url"}):
            raise UsageError(
                f"{path} is no run of this checkpoint: {record.episode} was answered by"
                f" {', '.join(answered) or 'no weights that it names'} (SHA-256) and not by {digest}; leave it out"
            )
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
