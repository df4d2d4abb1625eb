"""Demonstrations out of `rbench collect ... --format raw`, as samples for training."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.errors import AgentError, UsageError, one_line
from rbench_agent_pi0.embedded.checkpoint import Scales
from rbench_agent_pi0.embedded.design import Design, vocabulary
from rbench_agent_pi0.embedded.pictures import seen

#: Every so many demonstrations one is held out: never trained on, looked at for the curve.
HELD_OUT_EVERY = 18
#: Least standard deviation: a number that hardly varies is not blown up.
LEAST_STD = 0.02


@dataclass(frozen=True)
class Samples:
    """Moments of demonstrations.

    Attributes:
        pictures: for every eye (n, size, size, 3) uint8.
        state: (n, 8) and actions (n, chunk, 8), normalised. words: (n, longest).
        held_out: (n,), the moments of demonstrations that are held out.
    """

    pictures: tuple[npt.NDArray[np.uint8], ...]
    state: npt.NDArray[np.float32]
    actions: npt.NDArray[np.float32]
    words: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Dataset:
    """A folder of raw demonstrations.

    Attributes:
        about: where they come from, plain data for the card.
    """

    samples: Samples
    design: Design
    scales: Scales
    about: dict[str, Any]


def read_dataset(root: Path, design: Design, most: int | None = None) -> Dataset:
    """Read demonstrations: all, or the first `most`.

    A chunk that reaches beyond the end of a demonstration repeats its last row.

    Raises:
        UsageError: it is no such folder, is damaged, or lacks what the design looks at.
    """
    head = _head(root, design)
    try:
        return _dataset(root, head, design, most)
    except AgentError as problem:
        raise UsageError(f"{root} has pictures that are not square; collect with --size {design.picture}") from problem
    except (OSError, EOFError, ValueError, KeyError, TypeError, IndexError) as problem:
        raise UsageError(f"{root} is damaged ({one_line(problem)}); collect the demonstrations again") from problem


def _dataset(root: Path, head: dict[str, Any], design: Design, most: int | None) -> Dataset:
    episodes = [json.loads(line) for line in (root / "episodes.jsonl").read_text(encoding="utf-8").splitlines()][:most]
    if len(episodes) < 2:
        raise UsageError(f"{root} holds {len(episodes)} demonstrations; collect more: some are held out")
    design = replace(design, words=vocabulary([episode["instruction"] for episode in episodes]), rate=int(head["rate"]))
    pictures: list[list[npt.NDArray[np.uint8]]] = [[] for _ in design.eyes]
    joints, grippers, deltas, targets, words, held_out = [], [], [], [], [], []
    for number, episode in enumerate(episodes):
        folder = root / episode["folder"]
        for eye, kept in zip(design.eyes, pictures, strict=True):
            frames = np.load(folder / f"pictures.{eye.camera}.npy", mmap_mode="r")
            design = replace(design, picture=int(frames.shape[1]))
            kept.append(np.stack([seen(np.asarray(frame), eye) for frame in frames]))
        here, actions = np.load(folder / "joint_positions.npy"), np.load(folder / "actions.npy")
        rows = np.minimum(np.arange(len(here))[:, None] + np.arange(design.chunk), len(here) - 1)
        joints.append(here)
        grippers.append(np.load(folder / "gripper.npy"))
        deltas.append(actions[rows, :7] - here[:, None])
        targets.append(actions[rows, 7])
        words.append(np.tile(np.array(design.tokens(episode["instruction"]), dtype=np.int64), (len(here), 1)))
        held_out.append(np.full(len(here), number % HELD_OUT_EVERY == 1))
    state = np.column_stack([np.concatenate(joints), np.concatenate(grippers)])
    delta = np.concatenate(deltas)
    if not (np.isfinite(state).all() and np.isfinite(delta).all()):
        raise ValueError("its joints or actions hold NaN or infinite numbers")
    scales = Scales(
        state_mean=_rounded(state.mean(0)),
        state_std=_rounded(np.maximum(state.std(0), LEAST_STD)),
        action_std=_rounded(np.maximum(delta.std((0, 1)), LEAST_STD)),
    )
    samples = Samples(
        pictures=tuple(np.concatenate(kept) for kept in pictures),
        state=scales.state(state[:, :7], state[:, 7]),
        actions=scales.normalised(delta, np.concatenate(targets)),
        words=np.concatenate(words),
        held_out=np.concatenate(held_out),
    )
    about = {
        "suite": head["suite"],
        "agent": head["agent"],
        "seed": head["seed"],
        "demonstrations": len(episodes),
        "held_out": sum(number % HELD_OUT_EVERY == 1 for number in range(len(episodes))),
        "frames": len(state),
        "instructions": sorted({episode["instruction"] for episode in episodes}),
        "content": hashlib.sha256(
            samples.actions.tobytes() + b"".join(p.tobytes() for p in samples.pictures)
        ).hexdigest(),
    }
    return Dataset(samples, design, scales, about)


def _head(root: Path, design: Design) -> dict[str, Any]:
    try:
        head: dict[str, Any] = json.loads((root / "dataset.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise UsageError(
            f"{root} holds no raw demonstrations ({problem}); collect some: rbench collect roboview-bias --agent servo"
            f" --option noise=1 --format raw --size {design.picture} -o {root}"
        ) from problem
    if head.get("format") != "rbench-raw":
        raise UsageError(f"{root} has format {head.get('format')!r}; collect with --format raw")
    for eye in design.eyes:
        if eye.camera not in head["cameras"]:
            raise UsageError(f"{root} has no pictures of camera {eye.camera!r}; collect with --camera {eye.camera}")
    return head


def _rounded(numbers: npt.NDArray[Any]) -> tuple[float, ...]:
    return tuple(round(float(number), 6) for number in numbers)
