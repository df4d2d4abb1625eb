"""Checkpoints: one safetensors file with the weights and, in its head, everything needed to use them."""

from __future__ import annotations

import hashlib
import json
import math
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from rbench.errors import StartError, one_line
from rbench.reading import read_json
from rbench.results.atomic import replacing_binary
from rbench.values import from_plain, to_plain
from rbench_agent_pi0.embedded.design import NAME, NUMBERS, Design
from rbench_agent_pi0.embedded.network import Network
from rbench_agent_pi0.embedded.trained import Trained, require_finite

#: Of the head; a file with another number was made for another rbench.
SCHEMA = 1


@dataclass(frozen=True)
class Scales:
    """What turns numbers of the robot into numbers of the network.

    Attributes:
        state_mean, state_std: of joints (rad) and gripper (0 .. 1), 8 each.
        action_std: of the seven joint targets (rad) relative to the joints where a chunk starts.
    """

    state_mean: tuple[float, ...]
    state_std: tuple[float, ...]
    action_std: tuple[float, ...]

    def __post_init__(self) -> None:
        lengths = (len(self.state_mean), len(self.state_std), len(self.action_std))
        if lengths != (NUMBERS, NUMBERS, NUMBERS - 1):
            raise ValueError(f"its scales are of {lengths} numbers")
        require_finite("the mean state of its scales", *self.state_mean)
        if not all(0.0 < number < math.inf for number in (*self.state_std, *self.action_std)):
            raise ValueError("a deviation of its scales is not above 0 and finite")

    def state(self, joints: Any, gripper: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        """States (..., 8) from joints (..., 7) and gripper (...)."""
        raw = np.concatenate([np.asarray(joints), np.asarray(gripper)[..., None]], -1)
        return np.asarray((raw - np.array(self.state_mean)) / np.array(self.state_std), dtype=np.float32)

    def normalised(self, deltas: Any, gripper: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Actions (..., 8) from relative joint targets (..., 7) and gripper targets (...)."""
        joints = np.asarray(deltas) / np.array(self.action_std)
        return np.concatenate([joints, 2.0 * np.asarray(gripper)[..., None] - 1.0], -1).astype(np.float32)

    def actions(self, normalised: Any, joints: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Joint targets (rad) and gripper (0 open .. 1 closed), (rows, 8), for a chunk that starts at joints (7,)."""
        rows = np.asarray(normalised, dtype=np.float64)
        targets = rows[:, :7] * np.array(self.action_std) + np.asarray(joints, dtype=np.float64)
        return np.column_stack([targets, np.clip((rows[:, 7] + 1.0) / 2.0, 0.0, 1.0)])


@dataclass(frozen=True)
class Head:
    """What a checkpoint says of itself.

    Attributes:
        name: of letters that can stand in a command and in a table (`design.NAME`).
        training: what it was trained with and on, as plain data (`trained.Trained`).

    Raises:
        ValueError: something in it cannot be used.
    """

    name: str
    design: Design
    scales: Scales
    training: dict[str, Any]
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ValueError(f"it is of schema {self.schema}, and this rbench reads {SCHEMA}")
        if not re.fullmatch(NAME, self.name):
            raise ValueError("its name is none that `rbench-pi0 train` takes")
        _ = self.trained

    @property
    def trained(self) -> Trained:
        """What it was trained with and on."""
        return from_plain(Trained, to_plain(self.training))


def write_checkpoint(path: Path, weights: dict[str, Tensor], head: Head) -> None:
    """Write weights as half precision numbers.

    Raises:
        StartError: it cannot be written.
    """
    half = {name: tensor.detach().cpu().to(torch.float16).contiguous() for name, tensor in weights.items()}
    metadata = {"rbench-pi0": json.dumps(to_plain(head), sort_keys=True, allow_nan=False)}
    try:
        with replacing_binary(path) as file:
            file.write(save(half, metadata))
    except OSError as problem:
        raise StartError(f"{path}: the checkpoint cannot be written ({problem}); give another folder") from problem


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, which says which checkpoint it is."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_checkpoint(path: Path) -> tuple[Network, Head]:
    """The network of a checkpoint, in single precision, ready for inference on the CPU.

    Raises:
        StartError: it is no checkpoint of the embedded policy, or holds numbers that are not finite.
    """
    head, weights = _opened(path)
    with torch.device("meta"):  # no random weights are drawn, only to be replaced
        network = Network(head.design)
    try:
        network.load_state_dict(weights, assign=True)
    except RuntimeError as problem:
        raise _not_one(path, "its weights do not fit its own design") from problem
    if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
        raise _not_one(path, "it holds weights that are NaN or infinite")
    return network.eval().requires_grad_(False), head


def _opened(path: Path) -> tuple[Head, dict[str, Tensor]]:
    _require_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get("rbench-pi0", "")
            weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118 - no mapping
    except (SafetensorError, OSError) as problem:
        raise _not_one(path, str(problem).splitlines()[0]) from problem
    if not text:
        raise _not_one(path, "it has no head of rbench-pi0")
    try:
        return from_plain(Head, read_json(text)), weights
    except (ValueError, OverflowError) as problem:
        raise _not_one(path, f"its head is not as rbench-pi0 writes it ({one_line(problem)})") from problem


def _require_file(path: Path) -> None:
    """Say what is wrong with a path before a library says something else.

    Raises:
        StartError: there is no ordinary file, or it may not be read.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            with path.open("rb"):
                return
        why = (
            f"is a folder; give the file in it, {path / 'policy.safetensors'}"
            if stat.S_ISDIR(mode)
            else ("is no ordinary file; give the path of a checkpoint")
        )
    except FileNotFoundError:
        why = "no such file; give hue, plain or the path of a checkpoint"
    except (OSError, ValueError) as problem:
        why = f"cannot be read ({getattr(problem, 'strerror', None) or problem}); give hue, plain or the path of a"
        why += " checkpoint that may be read"
    raise StartError(f"weights {str(path)!r}: {why}")


def _not_one(path: Path, why: str) -> StartError:
    return StartError(
        f"{path} is no checkpoint of the embedded policy: {why}; give one that `rbench-pi0 train`"
        " wrote, or -o weights=hue"
    )
