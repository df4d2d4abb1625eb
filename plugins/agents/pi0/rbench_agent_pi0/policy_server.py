"""The client of an openpi policy server.

Plain websocket, msgpack with arrays as openpi packs them. The server speaks first: one map with what it knows of its
policy. Then one observation a message, and one answer. An error comes as text, a traceback, before the server closes.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

import numpy as np

from rbench.action import ROW
from rbench.errors import InfrastructureError, StartError
from rbench.remote.address import Address
from rbench.remote.link import Link, Unreachable
from rbench.remote.options import secret_from
from rbench_agent_pi0.actions import CONTROL_RATE, MOST_ROWS
from rbench_agent_pi0.options import ActionSpace, Options
from rbench_agent_pi0.policies import Pictures

#: Seconds in which a server that went away may come back, for each attempt at an episode, and a look at its health.
PATIENCE, HEALTH = 5.0, 10.0
#: Seconds between looks at a server that says it is not ready.
PAUSE = 1.0
#: Pictures for openpi's policies unless options say otherwise.
PICTURES = Pictures(224, 224, 224)


class PolicyServer:
    """One persistent connection. A lost one costs an episode: the next reset opens another."""

    pictures = PICTURES
    weights: Mapping[str, str] = {}
    eyes: Sequence[str] = ()

    def __init__(self, options: Options) -> None:
        """Connect and compare what the server says with the options.

        Raises:
            StartError: the server is not there, or what it says does not fit.
        """
        self._options = options
        key = secret_from(options.api_key_env, "api_key_env", "pi0")
        self._address = options.address("policy server", "Api-Key", key)
        try:
            self._wait_until_healthy()
            self._link, self._metadata = self._greeted(0.0)
        except InfrastructureError as problem:
            raise StartError(f"agent 'pi0': {problem}") from problem
        try:
            self.action_space: ActionSpace = agreed_action_space(self._metadata, options, self._address)
        except StartError:
            self._link.close()
            raise

    @property
    def fractions(self) -> bool:
        """Whether the server says of its gripper that it is `continuous`; DROID's policies open or close it."""
        return self._metadata.get("gripper") == "continuous"

    def reset(self, rng: np.random.Generator) -> None:
        """Nothing goes over the wire: openpi's servers keep nothing of an episode. A lost connection is made again.

        Raises:
            InfrastructureError: the server is not there.
            StartError: another policy is served there now.
        """
        if self._link.open:
            return
        self._link, metadata = self._greeted(PATIENCE)
        if agreed_action_space(metadata, self._options, self._address) != self.action_space:
            self._link.close()
            raise StartError(f"{self._address}: another policy is served there than before; leave it during a run")

    def infer(self, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._link.ask(observation)

    def close(self) -> None:
        self._link.close()

    def _greeted(self, patience: float) -> tuple[Link, Mapping[str, Any]]:
        link = Link(self._address, patience)
        return link, link.receive()

    def _wait_until_healthy(self) -> None:
        """Look at `/healthz`, which openpi's servers answer with 200; a status of 500 or more means: not yet.

        Raises:
            Unreachable: nothing answers, or it is not ready in time.
        """
        url = "http" + self._address.url.removeprefix("ws").rstrip("/") + "/healthz"
        deadline = time.monotonic() + self._address.connect_seconds
        while (status := _status(url, self._address)) is not None and status >= 500:
            if time.monotonic() + PAUSE > deadline:
                raise Unreachable(f"{self._address} is not ready: {url} says status {status}; see its log")
            time.sleep(PAUSE)


def agreed_action_space(metadata: Mapping[str, Any], options: Options, address: Address) -> ActionSpace:
    """What the policy's actions are, once server and options do not contradict each other.

    A server may say in its metadata (openpi: `policy_metadata` of the configuration) `action_space`,
    `action_dim`, `action_horizon`, `control_rate` or `fps`, `image_resolution`, `needs_wrist_camera`,
    `n_external_cameras`; the names are those of RoboArena's servers where these have one. What it does not say is not
    checked.

    Raises:
        StartError: a contradiction, with both sides, or nobody says what the actions are.
    """
    said: Any = metadata.get("action_space")
    known = get_args(ActionSpace)
    if said is not None and not (isinstance(said, str) and said in known):
        raise StartError(
            f"{address} gives actions of kind {str(said)[:60]!r}; agent 'pi0' executes {' and '.join(known)}."
            " Serve a policy that gives one of these"
        )
    if said is not None and options.action_space not in (None, said):
        raise StartError(
            f"{address} gives {said} actions, and option action_space is {options.action_space}; leave the option out"
        )
    space: ActionSpace | None = options.action_space if said is None else cast(ActionSpace, said)
    if space is None:
        raise StartError(
            f"{address} does not say what its actions are. Say it: -o action_space=joint_velocity for pi0_droid,"
            " pi0_fast_droid and pi05_droid, -o action_space=joint_position for checkpoints with jointpos in their"
            " names and for those of the fine-tuning recipe"
        )
    for name, least, most in (
        ("action_dim", ROW, ROW),
        ("action_horizon", options.open_loop, MOST_ROWS),
        ("control_rate", CONTROL_RATE, CONTROL_RATE),
        ("fps", CONTROL_RATE, CONTROL_RATE),
        ("n_external_cameras", 0, 1),
    ):
        value = metadata.get(name)
        if isinstance(value, (int, float, np.integer, np.floating)) and not least <= value <= most:
            needed = f"{least}" if least == most else f"{least} to {most}"
            raise StartError(f"{address} says {name} = {value}, and agent 'pi0' needs {needed}; make them agree")
    _check_resolution(metadata.get("image_resolution"), options, address)
    return space


def _check_resolution(resolution: Any, options: Options, address: Address) -> None:
    if not isinstance(resolution, (list, tuple)) or len(resolution) != 2:
        return
    size = PICTURES.image_size if options.image_size is None else options.image_size
    height, width = options.height or PICTURES.height, options.width or PICTURES.width
    sent, source = ([size, size], "image_size makes") if size else ([height, width], "height and width make")
    if list(resolution) != sent:
        raise StartError(
            f"{address} asks for pictures of {str(list(resolution))[:40]} pixels, and option {source} them"
            f" {sent[0]} x {sent[1]}; give image_size=0 and these as height and width"
        )


def _status(url: str, address: Address) -> int | None:
    """The HTTP status of a URL; None when there is no HTTP answer: the handshake will say why."""
    handlers = [urllib.request.ProxyHandler({})] if address.is_loopback else []
    try:
        with urllib.request.build_opener(*handlers).open(url, timeout=HEALTH) as reply:
            status: int = reply.status
            return status
    except urllib.error.HTTPError as problem:
        problem.close()
        return problem.code
    except (OSError, ValueError):
        return None
    except Exception:  # what is no HTTP: http.client has errors of its own
        return None
