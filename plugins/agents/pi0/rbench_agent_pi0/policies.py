"""Which policy the agent asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from rbench.errors import StartError
from rbench_agent_pi0.options import ActionSpace, Options


class Policy(Protocol):
    """What the agent needs of a policy, wherever it runs."""

    @property
    def action_space(self) -> ActionSpace:
        """What its actions are."""

    def reset(self, rng: np.random.Generator) -> None:
        """An episode begins; nothing of the last one is left. `rng` is the episode's own generator."""

    def infer(self, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to an observation with DROID's keys; its `actions` are (rows, 8)."""

    def close(self) -> None:
        """Release what it holds."""


def chosen_policy(options: Options) -> Policy:
    """The policy that the options ask for.

    Raises:
        StartError: none is asked for, or its server is not there or does not fit the options.
    """
    if options.host is None and options.url is None:
        raise StartError(
            "agent 'pi0' asks a policy server, and none is named; start one with openpi's serve_policy.py and give its"
            " address: -o host=127.0.0.1 -o port=8000"
        )
    # Not at the top: a policy that needs no server needs none of its libraries.
    from rbench_agent_pi0.policy_server import PolicyServer

    return PolicyServer(options)
