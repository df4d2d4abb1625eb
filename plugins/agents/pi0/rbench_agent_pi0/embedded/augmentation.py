"""What is changed in the pictures of a batch while training. The demonstrations themselves vary nothing visual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

#: From RGB to brightness and two colour axes (YIQ): a turn of the colour axes changes the hue.
_TO_YIQ = torch.tensor([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])
_TO_RGB = torch.linalg.inv(_TO_YIQ)


@dataclass(frozen=True)
class Augmentation:
    """How strong it is.

    Attributes:
        shift: every picture is moved by up to so many pixels, its border repeated.
        hue: colours of both pictures are turned by up to so many degrees, together.
        saturation: and their saturation multiplied by 1 - this .. 1 + this.
        blind: share of samples whose wrist picture is gray: the other one has to be read, too.
        wordless: share of samples all of whose words are unknown: another sentence is no surprise.
    """

    shift: int = 2
    hue: float = 0.0
    saturation: float = 0.0
    blind: float = 0.0
    wordless: float = 0.1


def augmented(
    pictures: Sequence[np.ndarray], cameras: Sequence[str], how: Augmentation, rng: np.random.Generator
) -> list[Tensor]:
    """Pictures (n, size, size, 3) uint8 of every eye as (n, 3, size, size) in -1 .. 1, changed at random."""
    n = len(pictures[0])
    turn = _colour_turns(rng.uniform(-how.hue, how.hue, n), 1.0 + rng.uniform(-how.saturation, how.saturation, n))
    blind = rng.random(n) < how.blind
    changed = []
    for batch, camera in zip(pictures, cameras, strict=True):
        x = torch.from_numpy(_shifted(batch, rng.integers(-how.shift, how.shift + 1, (2, n)))).float() / 255.0
        if how.hue or how.saturation:
            x = torch.einsum("nhwc,ndc->nhwd", x, turn).clamp(0.0, 1.0)
        if camera == "wrist":
            x[torch.from_numpy(blind)] = 0.5
        changed.append(as_input(x))
    return changed


def as_input(x: Tensor) -> Tensor:
    """Pictures (n, size, size, 3) in 0 .. 1 as the network takes them."""
    return (2.0 * x - 1.0).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)


def _shifted(batch: np.ndarray, by: np.ndarray) -> np.ndarray:
    n, height, width, _ = batch.shape
    rows = np.clip(np.arange(height) + by[0][:, None], 0, height - 1)
    columns = np.clip(np.arange(width) + by[1][:, None], 0, width - 1)
    return np.asarray(batch[np.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]])


def _colour_turns(degrees: np.ndarray, saturation: np.ndarray) -> Tensor:
    """Matrices (n, 3, 3) on RGB."""
    angle, scale = torch.from_numpy(degrees * math.pi / 180.0).float(), torch.from_numpy(saturation).float()
    turn = torch.zeros(len(angle), 3, 3)
    turn[:, 0, 0] = 1.0
    turn[:, 1, 1] = turn[:, 2, 2] = scale * angle.cos()
    turn[:, 1, 2], turn[:, 2, 1] = -scale * angle.sin(), scale * angle.sin()
    return _TO_RGB @ turn @ _TO_YIQ
