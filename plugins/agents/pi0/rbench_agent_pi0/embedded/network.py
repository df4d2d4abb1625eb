"""The network: two picture encoders, a prefix of tokens, and an action expert that reads it.

The structure of pi0 (Black et al. 2024) in small: image, state and instruction tokens see each other; action tokens see
each other and, by cross-attention, the prefix, which is computed once for all steps of the flow. Nothing in it is taken
from openpi, and no weight is pretrained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from rbench_agent_pi0.embedded.design import NUMBERS, PADDING, PATCH, UNKNOWN, Design

#: Channels of an encoder's three levels, and points that it can name on its second.
CHANNELS, POINTS = (48, 64, 96), 32


class Residual(nn.Module):
    """Two convolutions around a way straight through."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)])

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(functional.silu(self.norms[0](x)))
        return x + self.second(functional.silu(self.norms[1](y)))


class Encoder(nn.Module):
    """A picture (n, 3, side, side) in -1 .. 1 as tokens (n, (side / 16)^2 + 1, width).

    The last token says where up to 32 learned features are (spatial softmax, Levine et al. 2016): precise to a part of
    a pixel, which patches are not.
    """

    def __init__(self, side: int, width: int) -> None:
        super().__init__()
        a, b, c = CHANNELS
        self.stem = nn.Conv2d(3, a, 6, stride=4, padding=1)
        self.down = nn.Conv2d(a, b, 3, stride=2, padding=1)
        self.middle = Residual(b)
        self.points = nn.Conv2d(b, POINTS, 1)
        self.last_down = nn.Conv2d(b, c, 3, stride=2, padding=1)
        self.last = Residual(c)
        self.norms = nn.ModuleList([nn.GroupNorm(8, a), nn.GroupNorm(8, b), nn.GroupNorm(8, c)])
        self.patch = nn.Linear(c, width)
        self.point = nn.Linear(2 * POINTS, width)
        self.place = nn.Parameter(0.02 * torch.randn((side // PATCH) ** 2 + 1, width))

    def forward(self, picture: Tensor) -> Tensor:
        x = functional.silu(self.norms[0](self.stem(picture)))
        x = self.middle(self.down(x))
        points = self._where(self.points(functional.silu(self.norms[1](x))))
        x = functional.silu(self.norms[2](self.last(self.last_down(x))))
        patches = self.patch(x.flatten(2).transpose(1, 2))
        return torch.cat([patches, self.point(points)[:, None]], 1) + self.place

    @staticmethod
    def _where(scores: Tensor) -> Tensor:
        """Mean places (n, 2 * points) in -1 .. 1 of a softmax over each channel."""
        n, points, height, width = scores.shape
        weights = scores.flatten(2).softmax(2).view(n, points, height, width)
        across = torch.linspace(-1.0, 1.0, width, device=scores.device)
        down = torch.linspace(-1.0, 1.0, height, device=scores.device)
        return torch.cat([(weights.sum(2) * across).sum(2), (weights.sum(3) * down).sum(2)], 1)


class Attention(nn.Module):
    """Attention over `source`, with keys and values that can be computed beforehand."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def remember(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (n, heads, tokens, width / heads)."""
        key, value = self.key_value(source).chunk(2, 2)
        return self._split(key), self._split(value)

    def forward(self, x: Tensor, memory: tuple[Tensor, Tensor], visible: Tensor | None = None) -> Tensor:
        seen = functional.scaled_dot_product_attention(self._split(self.query(x)), *memory, attn_mask=visible)
        return self.out(seen.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)


class PrefixLayer(nn.Module):
    """Tokens of pictures, state and instruction see each other."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.wide = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])

    def forward(self, x: Tensor, visible: Tensor) -> Tensor:
        y = self.norms[0](x)
        x = x + self.attention(y, self.attention.remember(y), visible)
        x = x + self.wide(self.norms[1](x))
        return self.norms[2](x)


class ExpertLayer(nn.Module):
    """Action tokens see each other and the prefix; flow time scales and shifts them (adaLN, Peebles and Xie 2023)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.own = Attention(width, heads)
        self.cross = Attention(width, heads)
        self.wide = nn.Sequential(nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width, elementwise_affine=False) for _ in range(3)])
        self.time = nn.Linear(width, 9 * width)
        nn.init.zeros_(self.time.weight)
        nn.init.zeros_(self.time.bias)

    def remember(self, prefix: Tensor) -> tuple[Tensor, Tensor]:
        """What it will see of the prefix."""
        return self.cross.remember(prefix)

    def forward(self, x: Tensor, memory: tuple[Tensor, Tensor], visible: Tensor, time: Tensor) -> Tensor:
        changes = self.time(time)[:, None].chunk(9, 2)
        y = _changed(self.norms[0](x), changes[0], changes[1])
        x = x + (1.0 + changes[2]) * self.own(y, self.own.remember(y))
        y = _changed(self.norms[1](x), changes[3], changes[4])
        x = x + (1.0 + changes[5]) * self.cross(y, memory, visible)
        y = _changed(self.norms[2](x), changes[6], changes[7])
        return x + (1.0 + changes[8]) * self.wide(y)


#: Keys and values of the prefix for every layer of the expert, and which of its tokens are there.
Memory = tuple[list[tuple[Tensor, Tensor]], Tensor]


class Network(nn.Module):
    """From pictures, state and instruction to the velocity of the flow at noisy actions.

    State and actions are normalised (`checkpoint.Scales`).
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        width, heads = design.width, design.heads
        self.encoders = nn.ModuleList([Encoder(eye.size, width) for eye in design.eyes])
        self.state = nn.Linear(NUMBERS, width)
        self.words = nn.Embedding(UNKNOWN + 1 + len(design.words), width, padding_idx=PADDING)
        self.word_place = nn.Parameter(0.02 * torch.randn(design.longest, width))
        self.prefix = PrefixLayer(width, heads)
        self.action = nn.Linear(NUMBERS, width)
        self.action_place = nn.Parameter(0.02 * torch.randn(design.chunk, width))
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU())
        self.layers = nn.ModuleList([ExpertLayer(width, heads) for _ in range(design.layers)])
        self.norm = nn.LayerNorm(width)
        self.velocity_of = nn.Linear(width, NUMBERS)
        nn.init.zeros_(self.velocity_of.weight)
        self.width = width

    def look(self, pictures: Sequence[Tensor], state: Tensor, words: Tensor) -> Memory:
        """Everything that does not depend on the flow.

        Args:
            pictures: for every eye (n, 3, size, size) in -1 .. 1.
            state: (n, 8). words: (n, longest), places in the vocabulary.
        """
        images = [encoder(picture) for encoder, picture in zip(self.encoders, pictures, strict=True)]
        text = self.words(words) + self.word_place
        x = torch.cat([*images, self.state(state)[:, None], text], 1)
        visible = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        visible[:, -words.shape[1] :] = words != PADDING
        visible = visible[:, None, None]
        x = self.prefix(x, visible)
        return [cast(ExpertLayer, layer).remember(x) for layer in self.layers], visible

    def velocity(self, memory: Memory, actions: Tensor, time: Tensor) -> Tensor:
        """The velocity (n, chunk, 8) at noisy actions (n, chunk, 8) and times (n,), 0 noise .. 1 actions."""
        remembered, visible = memory
        x = self.action(actions) + self.action_place
        at = self.time(_waves(time, self.width))
        for layer, part in zip(self.layers, remembered, strict=True):
            x = layer(x, part, visible, at)
        return self.velocity_of(self.norm(x))


def _changed(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    return x * (1.0 + scale) + shift


def _waves(time: Tensor, width: int) -> Tensor:
    """Sines and cosines (n, width) of times 0 .. 1, with periods from 0.004 to 4 as in pi0."""
    periods = torch.exp(torch.linspace(math.log(0.004), math.log(4.0), width // 2, device=time.device))
    angles = 2.0 * math.pi * time[:, None] / periods
    return torch.cat([angles.sin(), angles.cos()], 1)
