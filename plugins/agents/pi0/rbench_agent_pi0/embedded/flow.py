"""Flow matching: the loss that is trained, and actions by Euler's method.

A straight line leads from noise at time 0 to actions at time 1; the network learns its direction, actions - noise, from
any point of it (Lipman et al. 2023, section 4.1; pi0, section IV).
"""

from __future__ import annotations

import torch
from torch import Tensor

from rbench_agent_pi0.embedded.network import Memory, Network

#: Times are drawn from 1 - Beta(1.5, 1): more of them near the noise, as in pi0, section IV.
EARLY = 1.5
#: Points of the line that are drawn for every sample: looking is what costs, and one look serves them all.
DRAWS = 2


def flow_loss(network: Network, memory: Memory, actions: Tensor, generator: torch.Generator) -> Tensor:
    """Mean squared error of the velocity for actions (n, chunk, 8), at random times and noise."""
    remembered, visible = memory
    remembered = [(key.repeat(DRAWS, 1, 1, 1), value.repeat(DRAWS, 1, 1, 1)) for key, value in remembered]
    target = actions.repeat(DRAWS, 1, 1)
    noise = torch.randn(target.shape, generator=generator).to(target)
    # Beta(a, 1) is u ** (1 / a) of a uniform u.
    time = (1.0 - torch.rand(len(target), generator=generator) ** (1.0 / EARLY)).to(target)
    mixed = time[:, None, None] * target + (1.0 - time[:, None, None]) * noise
    velocity = network.velocity((remembered, visible.repeat(DRAWS, 1, 1, 1)), mixed, time)
    return torch.mean((velocity - (target - noise)) ** 2)


def sampled(network: Network, memory: Memory, noise: Tensor, steps: int) -> Tensor:
    """Actions (n, chunk, 8) from noise of that shape."""
    x = noise
    for step in range(steps):
        time = torch.full((len(x),), step / steps, device=x.device)
        x = x + network.velocity(memory, x, time) / steps
    return x
