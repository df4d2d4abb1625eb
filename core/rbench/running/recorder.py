"""Collects an episode's control ticks into a `Trajectory`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rbench.geometry import Array
from rbench.interfaces.world import Tick
from rbench.record import Trajectory
from rbench.world_state import WorldState


class TrajectoryRecorder:
    """Keeps references to per-tick arrays and stacks them once, at the end of the episode."""

    def __init__(self, control_rate: int, start: WorldState) -> None:
        self._control_rate = control_rate
        self._states = [start]
        self._commands: list[Array] = []

    def add(self, tick: Tick) -> None:
        """Append one tick."""
        self._commands.append(tick.command)
        self._states.append(tick.state)

    @property
    def ticks(self) -> int:
        """Ticks recorded so far."""
        return len(self._commands)

    def trajectory(self) -> Trajectory:
        """The recording; row 0 is the state at reset."""
        states = self._states
        names = tuple(states[0].bodies)
        # One table of all numbers of a moment: putting short arrays together one by one takes several times as long.
        parts: list[Array] = []
        for state in states:
            parts += state.robot[:4]
            for name in names:
                parts += state.bodies[name][:2]
        numbers = np.concatenate(parts).reshape(len(states), -1).astype(np.float32)
        pairs, contacts = self._contacts()
        return Trajectory(
            control_rate=self._control_rate,
            time=np.array([s.time for s in states]),
            joint_positions=numbers[:, :7],
            joint_velocities=numbers[:, 7:14],
            gripper=np.array([s.robot.gripper for s in states], dtype=np.float32),
            end_effector=numbers[:, 14:21],
            commands=np.array(self._commands, dtype=np.float64).reshape(len(self._commands), 8),
            bodies={name: numbers[:, 21 + 7 * i : 28 + 7 * i] for i, name in enumerate(names)},
            contact_pairs=tuple("|".join(pair) for pair in pairs),
            contacts=contacts,
        )

    def _contacts(self) -> tuple[list[tuple[str, str]], npt.NDArray[np.bool_]]:
        """Every pair that ever touched, and (n, pairs) when; most moments have the contacts of the one before."""
        different = list(dict.fromkeys(s.contacts for s in self._states))
        pairs = sorted(frozenset().union(*different))
        table = np.array([[pair in contacts for pair in pairs] for contacts in different], dtype=np.bool_)
        number = {contacts: i for i, contacts in enumerate(different)}
        table = table.reshape(len(different), len(pairs))
        return pairs, table[[number[s.contacts] for s in self._states]]
