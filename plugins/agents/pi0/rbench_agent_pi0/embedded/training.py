"""Training: seeded, by steps and not by time, and resumed at the last saved step with the same result.

Every step draws from a generator of its own, (seed, step): which steps ran before in the same process decides nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rbench.errors import StartError, UsageError
from rbench.values import to_plain
from rbench_agent_pi0.embedded.augmentation import as_input, augmented
from rbench_agent_pi0.embedded.checkpoint import Head
from rbench_agent_pi0.embedded.demonstrations import Dataset, Samples
from rbench_agent_pi0.embedded.design import PADDING, UNKNOWN
from rbench_agent_pi0.embedded.flow import flow_loss
from rbench_agent_pi0.embedded.network import Network
from rbench_agent_pi0.embedded.trained import Point, Recipe
from rbench_agent_pi0.embedded.training_folder import POLICY, STATE, held, mend, told_what_to_do, write_policy
from rbench_agent_pi0.embedded.training_state import (
    About,
    not_finite,
    read_finished,
    read_state,
    write_state,
)

#: Held-out moments that the curve looks at, always with the same noise.
HELD_OUT = 256
#: Adam's decay rates, the decay of matrices, and the largest norm of a gradient.
BETAS, DECAY, CLIP = (0.9, 0.95), 0.01, 1.0
#: What Adam keeps of every parameter.
MOMENTS = ("exp_avg", "exp_avg_sq")
#: Share of the learning rate that is left at the end; of the average of weights that is kept in a step.
FLOOR, KEPT = 0.02, 0.999


class Training:
    """A training in a folder. `run` goes on from what lies there.

    policy.safetensors    the averaged weights, ready to be used
    state.safetensors     everything that the next step needs; not needed any more when the training is finished
    training.json         name, recipe, data and curve, to be read by people
    training.lock         kept locked while it runs
    """

    def __init__(self, folder: Path, name: str, data: Dataset, recipe: Recipe, device: str = "cpu") -> None:
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
        self._threads = torch.get_num_threads()  # like the device, it decides how sums are rounded

    def run(
        self, tell: Callable[[Point], Any] = lambda point: None, note: Callable[[str], Any] = lambda text: None
    ) -> None:
        """Train to the end, saving at every point of the curve; what a finished training lacks is written again.

        Args:
            tell: gets every new point. note: gets what else is worth a line.

        Raises:
            UsageError: another training lies there, or a damaged one.
            StartError: nothing can be written, another process trains there, or the training diverged.
        """
        with held(self._folder):
            self._resume(note)
            self._train(tell)

    def _train(self, tell: Callable[[Point], Any]) -> None:
        seconds = self.curve[-1].seconds if self.curve else 0.0
        began, losses = time.process_time(), []
        while self.step < self._recipe.steps:
            losses.append(self._one_step())
            self._check("the loss", losses[-1])
            if self.step % self._recipe.every == 0 or self.step == self._recipe.steps:
                used = seconds + time.process_time() - began
                held_out = self._held_out()
                self._check("the held-out loss", held_out)
                if bad := not_finite(self._tensors()):
                    self._check(f"a number in {bad}", math.nan)
                point = Point(self.step, round(used, 1), round(float(np.mean(losses)), 5), round(held_out, 5))
                self.curve.append(point)
                losses = []
                self._save()
                tell(point)

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

    @property
    def about(self) -> About:
        """What the training says of itself now."""
        recipe, curve = to_plain(self._recipe), tuple(self.curve)
        return About(self.step, recipe, self._data.about, curve, self._name, self._threads, self._device)

    def _tensors(self) -> dict[str, Tensor]:
        """All that the next step needs, by names."""
        tensors = {f"average.{name}": value for name, value in self._average.items()}
        tensors |= {f"network.{name}": value for name, value in self._network.state_dict().items()}
        for number, parameter in enumerate(self._parameters):
            moments = self._optimizer.state[parameter] or dict.fromkeys(MOMENTS, parameter.detach())
            tensors |= {f"{key}.{number}": moments[key] for key in MOMENTS}
        return tensors

    def _check(self, what: str, number: float) -> None:
        if not math.isfinite(number):
            kept = self.curve[-1].step if self.curve else 0
            raise StartError(
                f"the training diverged: {what} is {number} at step {self.step}; {self._folder} holds step {kept}."
                " Look at the demonstrations, or give another --seed and another folder"
            )

    def _save(self) -> None:
        about = self.about
        with told_what_to_do(self._folder):
            write_state(self._folder / STATE, about, self._tensors())
            write_policy(self._folder, self._average, self._head(), about)

    def _head(self) -> Head:
        return Head(self._name, self._data.design, self._data.scales, self.about.trained)

    def _resume(self, note: Callable[[str], Any]) -> None:
        mine, state, policy = self.about, self._folder / STATE, self._folder / POLICY
        if state.exists():
            found, tensors = read_state(state, mine, self._tensors())
            tensors = {name: value.to(self._device) for name, value in tensors.items()}
            self._network.load_state_dict(_part(tensors, "network."))
            self._average = _part(tensors, "average.")
            for number, parameter in enumerate(self._parameters):
                moments = {key: tensors[f"{key}.{number}"] for key in MOMENTS}
                self._optimizer.state[parameter] = {"step": torch.tensor(float(found.step)), **moments}
        elif policy.exists():
            found, self._average = read_finished(policy)
            mine.refuse_another(found, self._folder)
            if found.step < self._recipe.steps:
                raise UsageError(
                    f"{self._folder} holds step {found.step} of this training and no {STATE} to go on from; give"
                    f" another folder, or begin again without {POLICY}"
                )
        else:
            return
        self.step, self.curve = found.step, list(found.curve)
        with told_what_to_do(self._folder):
            mend(self._folder, self._average, self._head(), self.about, note)
        finished = self.step >= self._recipe.steps
        note("this training is finished already" if finished else f"the training goes on after step {self.step}")


def _part(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _share_of_rate(step: int, recipe: Recipe) -> float:
    if step < recipe.warm_up:
        return (step + 1) / recipe.warm_up
    way = (step - recipe.warm_up) / max(1, recipe.steps - recipe.warm_up)
    return FLOOR + (1.0 - FLOOR) * 0.5 * (1.0 + math.cos(math.pi * way))
