"""What a training keeps to go on: step, curve, recipe, data and every number of the next step, in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor

from rbench.errors import StartError, UsageError, one_line
from rbench.results.atomic import replacing_binary
from rbench.values import from_plain
from rbench_agent_pi0.embedded.checkpoint import Head, read_checkpoint
from rbench_agent_pi0.embedded.trained import Point


@dataclass(frozen=True)
class About:
    """What a training says of itself. All but step and curve decides its numbers or names it, and never changes.

    Attributes:
        name: of the checkpoint; None in a state of before names were kept.
        threads, device: absent in what was written before they were kept: one thread on the CPU.
    """

    step: int
    recipe: dict[str, Any]
    data: dict[str, Any]
    curve: tuple[Point, ...]
    name: str | None = None
    threads: int = 1
    device: str = "cpu"

    @property
    def trained(self) -> dict[str, Any]:
        """What the head of the checkpoint holds of it."""
        plain = {"recipe": self.recipe, "data": self.data, "curve": [asdict(point) for point in self.curve]}
        return {**plain, "threads": self.threads, "device": self.device}

    @property
    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {"step": self.step, "name": self.name, **self.trained}

    def refuse_another(self, found: About, folder: Path) -> None:
        """Say that the training that was found is not this one.

        Raises:
            UsageError: it is another.
        """
        names = ["recipe", "data", "threads", "device"] + (["name"] if found.name is not None else [])
        other = [name for name in names if getattr(self, name) != getattr(found, name)]
        if other:
            called = "a training" if found.name is None else f"the training {found.name!r}"
            raise UsageError(
                f"{folder} holds {called}, which differs in its {', '.join(other)}; give another folder, or the command"
                " that it began with"
            )


def write_state(path: Path, about: About, tensors: Mapping[str, Tensor]) -> None:
    """Write one file, so that step, curve and weights belong together whatever is interrupted.

    Raises:
        OSError: it cannot be written.
    """
    head = {"training": json.dumps(about.plain, allow_nan=False)}
    with replacing_binary(path) as file:
        file.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}, head))


def read_state(path: Path, mine: About, like: Mapping[str, Tensor]) -> tuple[About, dict[str, Tensor]]:
    """What `write_state` wrote.

    Args:
        mine: the training that wants to go on.
        like: tensors of the names, shapes and types that it needs.

    Raises:
        UsageError: it is damaged, or another training's.
    """
    try:
        with safe_open(path, framework="pt") as opened:
            found = _about(json.loads((opened.metadata() or {}).get("training", "")))
        mine.refuse_another(found, path.parent)
        if found.step > mine.recipe["steps"]:
            raise ValueError("its step lies beyond the end")
        tensors = load_file(path)
        _check(tensors, like)
    except (SafetensorError, OSError, ValueError, OverflowError, RecursionError) as problem:
        raise UsageError(
            f"{path} is damaged ({one_line(problem)}); give another folder, or begin again without it"
        ) from problem
    return found, tensors


def read_finished(path: Path) -> tuple[About, dict[str, Tensor]]:
    """What a checkpoint says of its training, and its weights: of a training whose state was deleted.

    Raises:
        UsageError: it does not say it.
    """
    try:
        network, head = read_checkpoint(path)
        curve = head.training.get("curve")
        step = curve[-1].get("step") if isinstance(curve, list) and curve and isinstance(curve[-1], dict) else None
        found = _about({**head.training, "name": head.name, "step": step})
    except (StartError, ValueError, OverflowError) as problem:
        raise UsageError(f"{path} is there and tells of no training; give another folder, or move it away") from problem
    return found, dict(network.state_dict())


def is_checkpoint_of(path: Path, head: Head, weights: Mapping[str, Tensor]) -> bool:
    """Whether a file is the checkpoint with this head and these weights."""
    try:
        network, found = read_checkpoint(path)
    except StartError:
        return False
    there = network.state_dict()
    return _comparable(found) == _comparable(head) and all(
        torch.equal(there[name], value.detach().cpu().to(torch.float16).float()) for name, value in weights.items()
    )


def not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """The name of a tensor that holds NaN or an infinity, also as the half precision number of a checkpoint."""
    for name, value in tensors.items():
        if not bool(torch.isfinite(value.half() if name.startswith("average.") else value).all()):
            return name
    return None


def _comparable(head: Head) -> Any:
    # Through JSON, as the one that was read went; checkpoints of before lack threads and device.
    plain = {**asdict(head), "training": {"threads": 1, "device": "cpu", **head.training}}
    return json.loads(json.dumps(plain))


def _about(plain: Any) -> About:
    """Rebuild it.

    Raises:
        ValueError: it is not as `About.plain` gave it.
    """
    about = from_plain(About, plain)
    steps = [0, *(point.step for point in about.curve)]
    if any(a >= b for a, b in pairwise(steps)) or not steps[1:] or steps[-1] != about.step:
        raise ValueError("its curve does not lead to its step")
    return about


def _check(tensors: Mapping[str, Tensor], like: Mapping[str, Tensor]) -> None:
    if tensors.keys() != like.keys():
        raise ValueError(f"{min(tensors.keys() ^ like.keys())} is missing or too much")
    for name, wanted in like.items():
        if tensors[name].shape != wanted.shape or tensors[name].dtype != wanted.dtype:
            raise ValueError(f"{name} has another shape or type")
    if bad := not_finite(tensors):
        raise ValueError(f"{bad} holds NaN or infinite numbers")
