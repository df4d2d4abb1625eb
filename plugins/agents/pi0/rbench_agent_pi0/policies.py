"""Which policy the agent asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rbench.errors import StartError
from rbench_agent_pi0.options import ActionSpace, Options

#: The embedded policy unless another one is asked for.
DEFAULT_WEIGHTS = "hue"


@dataclass(frozen=True)
class Pictures:
    """What pictures a policy is given unless options say otherwise: height and width, and side of the letterbox."""

    height: int
    width: int
    image_size: int


class Policy(Protocol):
    """What the agent needs of a policy, wherever it runs."""

    @property
    def action_space(self) -> ActionSpace:
        """What its actions are."""

    @property
    def fractions(self) -> bool:
        """Whether its gripper is meant as it is; else it is opened or closed, nothing between."""

    @property
    def pictures(self) -> Pictures:
        """What it was made for."""

    @property
    def weights(self) -> Mapping[str, str]:
        """SHA-256 of every file of weights that was read here, by its name; none of a policy behind a server."""

    @property
    def eyes(self) -> Sequence[str]:
        """The cameras that it was trained on; none when that is not known."""

    def reset(self, rng: np.random.Generator) -> None:
        """An episode begins; nothing of the last one is left. `rng` is the episode's own generator."""

    def infer(self, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to an observation with DROID's keys; its `actions` are (rows, 8)."""

    def close(self) -> None:
        """Release what it holds."""


def chosen_policy(options: Options) -> Policy:
    """The policy that the options ask for: behind a server if one is named, else the embedded one.

    Raises:
        StartError: a library is missing, its server is not there, or something does not fit the options.
    """
    # Neither at the top: each needs libraries that the other one can do without.
    if options.host is not None or options.url is not None:
        try:
            from rbench_agent_pi0.policy_server import PolicyServer
        except ImportError as problem:
            raise StartError(
                f"agent 'pi0' asks a policy server and cannot import what speaks to it ({problem}); install it: python3"
                " -m pip install 'msgpack>=1.0.5' 'websockets>=15'"
            ) from problem
        return PolicyServer(options)
    try:
        from rbench_agent_pi0.embedded.policy import EmbeddedPolicy
    except ImportError as problem:
        raise StartError(
            f"agent 'pi0' without a server runs its embedded policy, which needs PyTorch and safetensors ({problem});"
            " install them: python3 -m pip install torch safetensors, or name a policy server: -o host=127.0.0.1"
            " -o port=8000"
        ) from problem
    policy = EmbeddedPolicy(options.weights or DEFAULT_WEIGHTS)
    _check_fit(options, policy.pictures, policy.rows)
    return policy


def _check_fit(options: Options, pictures: Pictures, rows: int) -> None:
    """Refuse at the start what the embedded policy would refuse in every episode.

    Raises:
        StartError: it is asked for more rows than it gives, or its pictures would not be square.
    """
    if options.open_loop > rows:
        raise StartError(
            f"agent 'pi0': the embedded policy gives {rows} rows and option open_loop wants {options.open_loop}; give"
            f" -o open_loop={rows} or less"
        )
    height, width = options.height or pictures.height, options.width or pictures.width
    if not (options.image_size or height == width):
        raise StartError(
            f"agent 'pi0': the embedded policy was trained on square pictures, and options make them {height} x"
            f" {width}; give height and width alike, or neither"
        )
