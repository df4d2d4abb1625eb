"""The embedded policy as the agent `pi0` asks it, and as it is served."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rbench.errors import AgentError
from rbench_agent_pi0.embedded.augmentation import as_input
from rbench_agent_pi0.embedded.checkpoint import Head, digest_of, read_checkpoint
from rbench_agent_pi0.embedded.design import NUMBERS
from rbench_agent_pi0.embedded.flow import sampled
from rbench_agent_pi0.embedded.pictures import seen
from rbench_agent_pi0.options import SHIPPED, ActionSpace
from rbench_agent_pi0.policies import Pictures

#: Of a joint (rad) or gripper; no robot's are near it, and the network's arithmetic still holds.
LARGEST = 100.0


class EmbeddedPolicy:
    """Runs a checkpoint here, on the CPU, in one thread. The noise comes from the episode's generator and nowhere else.

    It keeps nothing between questions but that generator.
    """

    action_space: ActionSpace = "joint_position"
    fractions = True

    def __init__(self, weights: str) -> None:
        """Read a checkpoint by the name of a shipped one or by its path.

        Raises:
            StartError: it is not there or no checkpoint.
        """
        torch.set_num_threads(1)
        path = checkpoint_path(weights)
        self._network, self.head = read_checkpoint(path)
        self.weights = {path.name: digest_of(path)}
        self._rng = np.random.default_rng(0)

    @property
    def pictures(self) -> Pictures:
        side = self.head.design.picture
        return Pictures(side, side, 0)

    @property
    def eyes(self) -> tuple[str, ...]:
        """The cameras that it was trained on."""
        return tuple(eye.camera for eye in self.head.design.eyes)

    @property
    def rows(self) -> int:
        """Of an answer."""
        return self.head.design.chunk

    @property
    def metadata(self) -> dict[str, Any]:
        """What a server of it tells its clients."""
        return metadata_of(self.head)

    def reset(self, rng: np.random.Generator) -> None:
        self._rng = rng

    @torch.inference_mode()
    def infer(self, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        """A chunk of actions (rows, 8): joint targets in rad, gripper 0 open .. 1 closed.

        Raises:
            AgentError: the observation does not have DROID's keys, or not in the shapes that are needed.
        """
        design, scales = self.head.design, self.head.scales
        views = (
            _picture(observation, "wrist_image_left" if eye.camera == "wrist" else "exterior_image_1_left")
            for eye in design.eyes
        )
        small = [seen(view, eye) for view, eye in zip(views, design.eyes, strict=True)]
        pictures = [as_input(torch.from_numpy(picture.copy())[None].float() / 255.0) for picture in small]
        joints = _numbers(observation, "observation/joint_position", NUMBERS - 1)
        gripper = _numbers(observation, "observation/gripper_position", 1)
        state = torch.from_numpy(scales.state(joints[None], gripper))
        words = torch.tensor([design.tokens(str(observation.get("prompt", "")))])
        noise = self._rng.standard_normal((1, design.chunk, NUMBERS)).astype(np.float32)
        memory = self._network.look(pictures, state, words)
        actions = sampled(self._network, memory, torch.from_numpy(noise), design.steps)
        return {"actions": scales.actions(actions[0].numpy(), joints)}

    def close(self) -> None:
        """Nothing is held open."""


def checkpoint_path(weights: str) -> Path:
    """Where a shipped checkpoint lies, or the path that was given. `./hue` is a file, `hue` the shipped one."""
    if weights in SHIPPED:
        return Path(str(files("rbench_agent_pi0"))) / "weights" / f"{weights}.safetensors"
    try:
        return Path(weights).expanduser()
    except RuntimeError:  # the home of nobody
        return Path(weights)


def metadata_of(head: Head) -> dict[str, Any]:
    """What the agent `pi0` compares with its options, and what else a client needs to know."""
    return {
        "policy": f"rbench-pi0 {head.name}",
        "action_space": EmbeddedPolicy.action_space,
        "action_dim": NUMBERS,
        "action_horizon": head.design.chunk,
        "control_rate": head.design.rate,
        "image_resolution": [head.design.picture, head.design.picture],
        "needs_wrist_camera": True,
        "n_external_cameras": 1,
        "gripper": "continuous",
    }


def _picture(observation: Mapping[str, Any], name: str) -> Any:
    picture = observation.get(f"observation/{name}")
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or not picture.size:
        raise AgentError(f"agent 'pi0': the observation has no uint8 picture under 'observation/{name}'; send one")
    return picture


def _numbers(observation: Mapping[str, Any], name: str, count: int) -> Any:
    try:
        numbers = np.asarray(observation.get(name), dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if len(numbers) != count or not (np.abs(numbers) <= LARGEST).all():  # NaN is not
        raise AgentError(
            f"agent 'pi0': the observation has no {count} numbers of at most {LARGEST:g} (rad, or 0 open .. 1 closed)"
            f" under {name!r}; send them"
        )
    return numbers
