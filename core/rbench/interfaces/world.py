"""Worlds: what an agent acts in. The MuJoCo world is the first implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from rbench.action import JointPositions, JointVelocities, Waypoints
from rbench.geometry import Array
from rbench.interfaces.agent import RobotFacts
from rbench.observation import CameraRequest, Observation
from rbench.scene import SceneDescription, Setup
from rbench.world_state import WorldState


class Tick(NamedTuple):
    """One control tick.

    Attributes:
        command: (8,) what the actuators were sent: 7 joint targets (rad) and the gripper (0..1).
        state: the state after it.
        clipped: how many numbers of the action were out of range and clipped.
        events: names of what happened (`unreachable`).
    """

    command: Array
    state: WorldState
    clipped: int = 0
    events: tuple[str, ...] = ()


class World(Protocol):
    """A simulated world in one process and thread. `reset` first; every method then refers to that setup."""

    @property
    def setup(self) -> Setup:
        """The setup that was built."""

    @property
    def robot(self) -> RobotFacts:
        """Limits and base of the robot."""

    def reset(self, setup: Setup, *, control_rate: int, cameras: Mapping[str, CameraRequest]) -> None:
        """Build the setup and settle it.

        Structure (shapes, robot, textures) is compiled once and cached; colours, poses, cameras and
        lights are written into the compiled model.

        Raises:
            UsageError: the control rate does not divide the physics rate, an unknown camera.
        """

    def observe(self, *, privileged: bool = False) -> Observation:
        """The present moment; images are rendered when first read."""

    def state(self) -> WorldState:
        """Ground truth of the present moment."""

    def execute(
        self, action: JointPositions | JointVelocities | Waypoints, *, ahead: Callable[[], int] = ...
    ) -> Iterator[Tick]:
        """Execute a checked action lazily, one control tick an item; the caller may stop at any tick.

        Args:
            ahead: asked now and then, how many ticks (1 or more; default 1) may be simulated before the caller has the
                first of them; physics is faster undisturbed. Who stops earlier has a world that went on till the last.

        Raises:
            UnstableSimulation: the state diverged; the world must be reset.
        """

    def settle(self, seconds: float, *, ahead: Callable[[], int] = ...) -> Iterator[Tick]:
        """Hold the last command for a while; `ahead` as for `execute`."""

    def replay(self, commands: Array) -> Iterator[Tick]:
        """Feed recorded commands (ticks, 8) back to the actuators, unchanged."""

    def read_scene(self) -> SceneDescription:
        """The scene description recovered from the simulator's model and state (for `Factor.read_back`)."""

    def masks(self, camera: str, height: int, width: int) -> dict[str, npt.NDArray[np.bool_]]:
        """Visible pixels of every entity (objects, receptacles, `table`, `robot`, ...) in one camera."""

    def render(self, camera: str, height: int, width: int) -> npt.NDArray[np.uint8]:
        """An upright RGB image (height, width, 3) of any camera of the scene."""

    def fingerprint(self) -> str:
        """SHA-256 of the simulator's full state."""

    def provenance(self) -> dict[str, Any]:
        """Simulator and its version, render profile, and the GL renderer once something was rendered."""

    def close(self) -> None:
        """Free the GL context and the models."""
