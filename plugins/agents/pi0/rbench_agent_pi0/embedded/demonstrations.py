"""Demonstrations out of `rbench collect ... --format raw`, as samples for training."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.errors import UsageError
from rbench_agent_pi0.embedded.checkpoint import Scales
from rbench_agent_pi0.embedded.design import Design, vocabulary
from rbench_agent_pi0.embedded.pictures import seen
from rbench_agent_pi0.embedded.raw_demonstrations import read_source

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
    source = read_source(root, [eye.camera for eye in design.eyes], design.rate, design.picture)
    told = source.demonstrations[:most]
    if len(told) < 2:
        raise UsageError(f"{root} holds {len(told)} demonstrations; collect more: some are held out")
    design = replace(design, words=vocabulary([demonstration.instruction for demonstration in told]))
    pictures: list[list[npt.NDArray[np.uint8]]] = [[] for _ in design.eyes]
    joints, grippers, deltas, targets, words, held_out = [], [], [], [], [], []
    for number, demonstration in enumerate(told):
        arrays = source.arrays(demonstration, design.picture if number else None)
        for eye, kept in zip(design.eyes, pictures, strict=True):
            frames = arrays.pictures[eye.camera]
            kept.append(np.stack([seen(np.asarray(frame), eye) for frame in frames]))
        design = replace(design, picture=arrays.side)
        here, actions = arrays.joints, arrays.actions
        rows = np.minimum(np.arange(len(here))[:, None] + np.arange(design.chunk), len(here) - 1)
        joints.append(here)
        grippers.append(arrays.gripper)
        deltas.append(actions[rows, :7] - here[:, None])
        targets.append(actions[rows, 7])
        words.append(np.tile(np.array(design.tokens(demonstration.instruction), dtype=np.int64), (len(here), 1)))
        held_out.append(np.full(len(here), number % HELD_OUT_EVERY == 1))
    state = np.column_stack([np.concatenate(joints), np.concatenate(grippers)])
    delta = np.concatenate(deltas)
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
        "suite": source.suite,
        "agent": source.agent,
        "seed": source.seed,
        "demonstrations": len(told),
        "held_out": sum(number % HELD_OUT_EVERY == 1 for number in range(len(told))),
        "frames": len(state),
        "instructions": sorted({demonstration.instruction for demonstration in told}),
        "content": hashlib.sha256(
            samples.actions.tobytes() + b"".join(p.tobytes() for p in samples.pictures)
        ).hexdigest(),
    }
    return Dataset(samples, design, scales, about)


def _rounded(numbers: npt.NDArray[Any]) -> tuple[float, ...]:
    return tuple(round(float(number), 6) for number in numbers)
