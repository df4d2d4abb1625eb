"""Training: seeded, by steps and not by time, and resumed at the last saved step with the same result.

Every step draws from a generator of its own, (seed, step): which steps ran before in the same process decides nothing.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor

from rbench.errors import StartError, UsageError
from rbench.results.atomic import replacing, replacing_binary
from rbench.values import to_plain
from rbench_agent_pi0.embedded.augmentation import Augmentation, as_input, augmented
from rbench_agent_pi0.embedded.checkpoint import Head, write_checkpoint
from rbench_agent_pi0.embedded.demonstrations import Dataset, Samples
from rbench_agent_pi0.embedded.design import PADDING, UNKNOWN
from rbench_agent_pi0.embedded.flow import flow_loss
from rbench_agent_pi0.embedded.network import Network

#: Held-out moments that the curve looks at, always with the same noise.
HELD_OUT = 256
#: Adam's decay rates, the decay of matrices, and the largest norm of a gradient.
BETAS, DECAY, CLIP = (0.9, 0.95), 0.01, 1.0
#: Share of the learning rate that is left at the end; of the average of weights that is kept in a step.
FLOOR, KEPT = 0.02, 0.999


@dataclass(frozen=True)
class Recipe:
    """How a policy is trained.

    Attributes:
        rate: learning rate after `warm_up` steps; a cosine brings it down from there.
        every: steps between points of the curve, where everything is saved.
    """

    steps: int = 3200
    batch: int = 64
    rate: float = 8e-4
    warm_up: int = 100
    seed: int = 0
    every: int = 100
    augmentation: Augmentation = field(default_factory=Augmentation)


@dataclass(frozen=True)
class Point:
    """A point of the curve: losses after so many steps and seconds of processor time."""

    step: int
    seconds: float
    loss: float
    held_out: float


class Training:
    """A training in a folder. `run` goes on from what lies there.

    policy.safetensors    the averaged weights, ready to be used
    state.safetensors     everything that the next step needs
    training.json         recipe, data and curve, to be read by people
    """

    def __init__(self, folder: Path, name: str, data: Dataset, recipe: Recipe, device: str = "cpu") -> None:
        """Prepare, or read what lies there.

        Raises:
            UsageError: a training with another recipe or other data lies there.
        """
        self._folder, self._name, self._data, self._recipe, self._device = folder, name, data, recipe, device
        with torch.random.fork_rng(devices=[]):  # the global generator is left as it was
            torch.manual_seed(recipe.seed)
            self._network = Network(data.design).to(device)
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        matrices = [p for p in self._network.parameters() if p.dim() > 1]
        others = [p for p in self._network.parameters() if p.dim() <= 1]
        groups = [{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
        self._optimizer = torch.optim.AdamW(groups, lr=recipe.rate, betas=BETAS)
        self._parameters = matrices + others
        self._average = {name: value.detach().clone() for name, value in self._network.state_dict().items()}
        self._training_rows = np.flatnonzero(~data.samples.held_out)
        self.step = 0
        self.curve: list[Point] = []
        self._resume()

    def run(self, tell: Callable[[Point], Any] = lambda point: None) -> None:
        """Train to the end, saving at every point of the curve.

        Raises:
            StartError: nothing can be written.
        """
        seconds = self.curve[-1].seconds if self.curve else 0.0
        began, losses = time.process_time(), []
        while self.step < self._recipe.steps:
            losses.append(self._one_step())
            if self.step % self._recipe.every == 0 or self.step == self._recipe.steps:
                used = seconds + time.process_time() - began
                point = Point(self.step, round(used, 1), round(float(np.mean(losses)), 5), round(self._held_out(), 5))
                self.curve.append(point)
                losses = []
                self._save()
                tell(point)

    @property
    def plain_curve(self) -> list[dict[str, Any]]:
        """The curve as plain data."""
        return [asdict(point) for point in self.curve]

    def _one_step(self) -> float:
        recipe, samples = self._recipe, self._data.samples
        rng = np.random.default_rng([recipe.seed, self.step])
        rows = rng.choice(self._training_rows, recipe.batch)
        cameras = [eye.camera for eye in self._data.design.eyes]
        pictures = augmented([p[rows] for p in samples.pictures], cameras, recipe.augmentation, rng)
        words = samples.words[rows].copy()
        words[(rng.random(recipe.batch) < recipe.augmentation.wordless)[:, None] & (words != PADDING)] = UNKNOWN
        for group in self._optimizer.param_groups:
            group["lr"] = recipe.rate * _share_of_rate(self.step, recipe)
        loss = self._loss(pictures, samples, rows, words, int(rng.integers(2**62)))
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._parameters, CLIP)
        self._optimizer.step()
        self.step += 1
        kept = min(KEPT, self.step / (self.step + 10.0))
        with torch.no_grad():
            for name, value in self._network.state_dict().items():
                self._average[name].lerp_(value, 1.0 - kept)
        return float(loss.detach())

    def _loss(self, pictures: list[Tensor], samples: Samples, rows: Any, words: Any, noise: int) -> Tensor:
        state, actions, text = (
            torch.from_numpy(array).to(self._device) for array in (samples.state[rows], samples.actions[rows], words)
        )
        memory = self._network.look([picture.to(self._device) for picture in pictures], state, text)
        return flow_loss(self._network, memory, actions, torch.Generator().manual_seed(noise))

    @torch.no_grad()
    def _held_out(self) -> float:
        """The loss of the averaged weights on held-out moments, in pictures as they are."""
        samples = self._data.samples
        rows = np.flatnonzero(samples.held_out)
        rows = rows[np.linspace(0, len(rows) - 1, min(HELD_OUT, len(rows))).astype(int)]
        now = {name: value.clone() for name, value in self._network.state_dict().items()}
        self._network.load_state_dict(self._average)
        pictures = [as_input(torch.from_numpy(p[rows]).float() / 255.0) for p in samples.pictures]
        loss = float(self._loss(pictures, samples, rows, samples.words[rows], 0))
        self._network.load_state_dict(now)
        return loss

    def _save(self) -> None:
        tensors = {f"average.{name}": value for name, value in self._average.items()}
        tensors |= {f"network.{name}": value for name, value in self._network.state_dict().items()}
        for number, parameter in enumerate(self._parameters):
            moments = self._optimizer.state[parameter]
            tensors |= {f"{key}.{number}": moments[key] for key in ("exp_avg", "exp_avg_sq")}
        said = {"recipe": to_plain(self._recipe), "data": self._data.about, "curve": to_plain(self.curve)}
        try:
            with replacing_binary(self._folder / "state.safetensors") as file:
                # One file with step, curve and weights: whatever is interrupted, they belong together.
                head = {"training": json.dumps({"step": self.step, **said})}
                file.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}, head))
            about = Head(self._name, self._data.design, self._data.scales, said)
            write_checkpoint(self._folder / "policy.safetensors", self._average, about)
            with replacing(self._folder / "training.json") as text:
                text.write(json.dumps({"step": self.step, **said}, indent=1) + "\n")
        except OSError as problem:
            raise StartError(f"{self._folder} cannot be written ({problem}); the same command goes on") from problem

    def _resume(self) -> None:
        file = self._folder / "state.safetensors"
        if not file.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            return
        try:
            with safe_open(file, framework="pt") as opened:
                found = json.loads((opened.metadata() or {}).get("training", ""))
            state = load_file(file, device=self._device)
        except (SafetensorError, OSError, ValueError) as problem:
            raise UsageError(
                f"{file} is damaged ({problem}); give another folder, or begin again without it"
            ) from problem
        same = found["recipe"] == to_plain(self._recipe) and found["data"] == self._data.about
        if not same:
            raise UsageError(f"{self._folder} holds a training with another recipe or other data; give another folder")
        self.step, self.curve = int(found["step"]), [Point(**point) for point in found["curve"]]
        self._network.load_state_dict(_part(state, "network."))
        self._average = _part(state, "average.")
        for number, parameter in enumerate(self._parameters):
            moments = {key: state[f"{key}.{number}"] for key in ("exp_avg", "exp_avg_sq")}
            self._optimizer.state[parameter] = {"step": torch.tensor(float(self.step)), **moments}


def _part(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _share_of_rate(step: int, recipe: Recipe) -> float:
    if step < recipe.warm_up:
        return (step + 1) / recipe.warm_up
    way = (step - recipe.warm_up) / max(1, recipe.steps - recipe.warm_up)
    return FLOOR + (1.0 - FLOOR) * 0.5 * (1.0 + math.cos(math.pi * way))
